//! Lists in which nothing stands twice. For the few names of a record or a report: the cost is O(n²).

/// All in their order; what comes again stays where it came first.
pub(crate) fn each_once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut once = Vec::new();
    for one in all {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

/// All in their order; what is like an earlier one is added to it.
pub(crate) fn added_up<T>(
    all: impl IntoIterator<Item = T>,
    is_like: impl Fn(&T, &T) -> bool,
    add: impl Fn(&mut T, T),
) -> Vec<T> {
    let mut sums: Vec<T> = Vec::new();
    for one in all {
        match sums.iter_mut().find(|sum| is_like(sum, &one)) {
            Some(sum) => add(sum, one),
            None => sums.push(one),
        }
    }
    sums
}
