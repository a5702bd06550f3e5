//! Whether a request comes from the user.
//!
//! A page of another site must not reach this program through a browser that runs here. Two checks see to that:
//!
//! 1. `Host` is an address, or `localhost`. A site that has its own name point here (DNS rebinding) comes with that name.
//! 2. `Origin`, where the browser sends it, is the page itself. A form or script of another site comes with that site's.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Refused, Request, Status, refused};

/// Whether a request comes from the user and not from another site. `is_anywhere`: other computers may ask, too.
///
/// Thread: any. Cost: O(length of the headers).
///
/// # Errors
/// It does not.
pub fn check(request: &Request, is_anywhere: bool) -> Result<(), Refused> {
    let Some(host) = request.header("host") else {
        return Err(refused(Status::Malformed, "the request names no host"));
    };
    if !is_ours(host, is_anywhere) {
        return Err(refused(Status::Forbidden, "the page has no name: use its address"));
    }
    let own = format!("http://{host}");
    if request.header("origin").is_some_and(|origin| !origin.eq_ignore_ascii_case(&own)) {
        return Err(refused(Status::Forbidden, "the request comes from another page"));
    }
    // A link to the page is no harm: it shows the whole page, and no other page can read it.
    let is_page = request.target == "/";
    let site = request.header("sec-fetch-site").filter(|_| !is_page);
    if site.is_some_and(|site| site != "same-origin" && site != "none") {
        return Err(refused(Status::Forbidden, "the request comes from another site"));
    }
    Ok(())
}

/// Any port: a tunnel has its own. As in an address for a browser, brackets are around those of IPv6 and no others: without
/// them `::1:80` would mean two things.
fn is_ours(host: &str, is_anywhere: bool) -> bool {
    let name = without_port(host);
    let address: Option<IpAddr> = match name.strip_prefix('[') {
        Some(rest) => {
            rest.strip_suffix(']').and_then(|it| Some(it.parse::<Ipv6Addr>().ok()?.into()))
        }
        None => name.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
    };
    let is_allowed = |ip: IpAddr| ip.is_loopback() || is_anywhere;
    name.eq_ignore_ascii_case("localhost") || address.is_some_and(is_allowed)
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}
