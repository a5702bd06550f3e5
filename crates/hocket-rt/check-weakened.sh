#!/usr/bin/env bash
# Checks the checks: weakens one ordering, or swaps two steps, at a time, and expects every test that
# PROTOCOL.md names for it to fail.
#
#   ./check-weakened.sh            by the loom models
#   ./check-weakened.sh tsan       by the race tests under ThreadSanitizer (nightly)
#   ./check-weakened.sh loom E3    only that edge (or the swap of that name)
#
#   WEAKENED_SECONDS=300 ./check-weakened.sh   begins no further case after 300 s
#
# Works on a copy. Every access in src/ that ends in a comment like `// E1 (store)` is weakened by
# itself: Release and Acquire become Relaxed, AcqRel loses one half at a time, a fence disappears.
#
# With a limit of time the first case depends on the commit, so what one commit leaves out the next ones
# try. The summary counts the cases that were tried.
#
# Time: 5 minutes for either checker on two quiet CPUs, most of it compiling. `ci/test.sh` runs the one with
# loom and begins no case after a minute; `make weakened` runs all cases of both checkers.
set -euo pipefail
cd "$(dirname "$0")"

checker="${1:-loom}"
only="${2:-}"
root=$(cargo locate-project --workspace --message-format plain | xargs dirname)
# The folder of the other checks with the same flags, whose dependencies are built already.
target="${CARGO_TARGET_DIR:-$root/target}/$checker"
copy="$target/weakened-source"
limit_s="${WEAKENED_SECONDS:-}"
export CARGO_TARGET_DIR="$target" RUST_BACKTRACE=0

case "$checker" in
loom)
    # Two preemptions are enough for every fault below.
    export RUSTFLAGS="--cfg loom" CARGO_PROFILE_RELEASE_LTO=off LOOM_MAX_PREEMPTIONS=2
    tests=loom
    cargo_test=(cargo test -q -p hocket-rt --release)
    ;;
tsan)
    if ! rustc +nightly --version >/dev/null 2>&1; then
        echo "SKIPPED check-weakened tsan: no nightly toolchain (rustup toolchain install nightly)"
        exit 0
    fi
    if [[ ! -d "$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library" ]]; then
        echo "SKIPPED check-weakened tsan: no source of std (rustup component add rust-src --toolchain nightly)"
        exit 0
    fi
    export RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer"
    export TSAN_OPTIONS="halt_on_error=1"
    tests=race
    cargo_test=(cargo +nightly test -q -Zbuild-std -p hocket-rt --target x86_64-unknown-linux-gnu)
    ;;
*)
    echo "usage: $0 [loom|tsan] [edge or swap]" >&2
    exit 2
    ;;
esac

# A workspace of this crate alone, with unchanged sources.
fresh_copy() {
    mkdir -p "$copy/crates/hocket-rt"
    sed 's|^members = .*|members = ["crates/hocket-rt"]|' "$root/Cargo.toml" >"$copy/Cargo.toml"
    cp "$root/Cargo.lock" "$copy/"
    cp -r Cargo.toml src tests "$copy/crates/hocket-rt/"
}

# The tests that PROTOCOL.md names for an edge.
named_for() {
    sed -n "s/^| $1 |.*|\(.*\)|\$/\1/p" PROTOCOL.md | grep -o '`[a-z_0-9]*`' | tr -d '`'
}

names=() files=() changes=() tests_of=() missed=()
# try NAME FILE PERL TEST...: a case. It changes FILE by PERL and expects each TEST of this checker to fail.
try() {
    local name="$1" file="$2" change="$3" test named=()
    shift 3
    if [[ -n "$only" && "$name" != *"$only"* ]]; then return; fi
    for test in "$@"; do
        if grep -qE "^(async )?fn $test\(\)" tests/${tests}_*.rs; then named+=("$test"); fi
    done
    if ((${#named[@]} == 0)); then
        echo "not for $checker: $name"
        return
    fi
    names+=("$name") files+=("$file") changes+=("$change") tests_of+=("${named[*]}")
}

# carry_out NUMBER: changes the copy and runs the tests of a case.
carry_out() {
    local name="${names[$1]}" file="${files[$1]}" change="${changes[$1]}" test
    local binaries=()
    for test in ${tests_of[$1]}; do binaries+=(--test "$(file_of "$test")"); done
    fresh_copy
    perl -0pi -e "$change" "$copy/crates/hocket-rt/src/$file"
    if cmp -s "src/$file" "$copy/crates/hocket-rt/src/$file"; then
        echo "FAILED: $name changes nothing: the pattern no longer fits src/$file"
        exit 1
    fi
    if ! (cd "$copy" && "${cargo_test[@]}" --no-run "${binaries[@]}") >"$target/weakened-build.log" 2>&1; then
        cat "$target/weakened-build.log"
        echo "FAILED: $name does not compile"
        exit 1
    fi
    for test in ${tests_of[$1]}; do expect_failure "$name" "$test"; done
}

# The test file, without its ending, that has a test.
file_of() {
    basename "$(grep -lE "^fn $1\(\)" tests/${tests}_*.rs)" .rs
}

# A race needs luck, so a test gets three chances to fail. A hang is a failure, too.
expect_failure() {
    local attempt
    for attempt in 1 2 3; do
        if ! (cd "$copy" && timeout 60 "${cargo_test[@]}" --test "$(file_of "$2")" -- --exact "$2") \
            >"$target/weakened-run.log" 2>&1; then
            echo "caught   $1 by $2"
            return
        fi
    done
    echo "MISSED   $1 by $2"
    missed+=("$1 by $2")
}

# try_edge PATH LINE EDGE SIDE PERL: weakens one line.
try_edge() {
    local file="${1#src/}"
    try "$file:$2:$3:$4" "$file" \
        "my \$n = 0; s{^(.*)\$}{\$n++; my \$l = \$1; if (\$n == $2) { $5 } \$l}gme" $(named_for "$3")
}

# One ordering at a time. The line number makes each site a case of its own.
while IFS=: read -r path line text; do
    cited="${text##*// }"
    edge="${cited%% *}"
    side="${cited##*(}"
    side="${side%)}"
    case "$text" in
    *"fence("*) try_edge "$path" "$line" "$edge" "$side" '$l = "";' ;;
    *AcqRel*)
        try_edge "$path" "$line" "$edge" store '$l =~ s{AcqRel}[std::sync::atomic::Ordering::Acquire];'
        try_edge "$path" "$line" "$edge" load '$l =~ s{AcqRel}[std::sync::atomic::Ordering::Release];'
        ;;
    *) try_edge "$path" "$line" "$edge" "$side" '$l =~ s{\b(Release|Acquire)\b}[std::sync::atomic::Ordering::Relaxed];' ;;
    esac
done < <(grep -rnE '// E[0-9]+ \(' src)

# Steps in another order, or left out, which no ordering can repair.
try "late-reset" barrier.rs \
    's/(            self\.arrivals\.reset\(\);\n)(            self\.release\.advance\(\);\n)/$2$1/' \
    two_sleeping_workers
try "late-look" barrier.rs \
    's/(        let round = self\.release\.value\(\);\n)(        if self\.arrivals\.arrive\(\) \{\n)(.*?)(        Some\(Round)/$2$3$1$4/s' \
    two_sleeping_workers
try "uncounted" signal.rs \
    's/self\.sleepers\.fetch_add\(1, Relaxed\);//; s/self\.sleepers\.fetch_sub\(1, Relaxed\)/self.sleepers.load(Relaxed)/' \
    a_sleeper_is_woken a_second_sleep_is_ended_too
try "not-passed-on" signal.rs \
    's/        if others_are_owed\(before\) \{\n.*?\n        \}\n/        let _ = before;\n/s' \
    a_chain_of_two_wakes_both a_chain_of_three_wakes_all
try "unsettled" signal.rs \
    's/            self\.settle\(\);\n//' \
    a_newcomer_does_not_take_an_old_sleepers_wake_up
try "late-count" ready.rs \
    's/(        self\.count\.fetch_add\(1, Relaxed\);\n)(.*?\/\/ E6 \(store\)\n)/$2$1/s' \
    a_known_unit_is_found
try "late-lower" deque.rs \
    's/(        self\.set_bottom\(last\);\n        fence.*?\n)(.*?)(        let top = .*?\n)/$3$1$2/s' \
    a_thief_does_not_pass_the_owner
try "unasked-last" deque.rs \
    's/let taken = self\.take_at\(last\);/let taken = self.take_at(last) || true;/' \
    owner_and_thief_meet_at_the_last_value
try "unrestored" deque.rs \
    's/self\.set_bottom\(last\.wrapping_add\(1\)\);//' \
    owner_and_thief_meet_at_the_last_value
try "unsigned" deque.rs \
    's/bottom\.wrapping_sub\(top\) as i32/i32::from(bottom.wrapping_sub(top) != 0)/' \
    an_empty_deque_is_empty_for_both
try "unwoken-leader" turnstile.rs \
    's/if before == ASLEEP \| 1 \{/if before == u32::MAX {/' \
    a_sleeping_leader_is_woken_by_the_last_to_leave a_leader_that_waits_for_long_sleeps_and_is_woken
try "unsaid-sleep" turnstile.rs \
    's/self\.word\.fetch_or\(ASLEEP, Relaxed\)/self.word.load(Relaxed)/; s/word \| ASLEEP, None/word, None/' \
    a_sleeping_leader_is_woken_by_the_last_to_leave a_leader_that_waits_for_long_sleeps_and_is_woken
try "open-for-ever" turnstile.rs \
    's/while word & OPEN != 0 \{/while word != u32::MAX {/' \
    nobody_enters_a_closed_block a_worker_that_may_be_late_over_two_blocks

count=${#names[@]}
if ((count == 0)); then
    echo "check-weakened: no such case: $only" >&2
    exit 2
fi
first=0
if [[ -n "$limit_s" ]]; then
    first=$((16#$(git rev-parse --short=7 HEAD 2>/dev/null || echo 0) % count))
fi
tried=0
SECONDS=0
while ((tried < count)) && [[ -z "$limit_s" || $SECONDS -lt $limit_s ]]; do
    carry_out $(((first + tried) % count))
    tried=$((tried + 1))
done
echo "check-weakened: tried $tried of $count cases ($checker) in $SECONDS s"
if ((tried < count)); then
    echo "SKIPPED $((count - tried)) of $count cases of check-weakened: the $limit_s s are over (make weakened)"
fi
if ((${#missed[@]})); then
    echo "check-weakened: FAILED: ${#missed[@]} times a test that should fail passed"
    exit 1
fi
echo "check-weakened: passed"
