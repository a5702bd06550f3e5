//! Where a port is opened: on this computer alone, or on one of its networks.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// An address of this computer and a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenAddress(pub SocketAddr);

impl ListenAddress {
    /// On this computer alone.
    pub(super) const fn local(port: u16) -> ListenAddress {
        ListenAddress(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
    }
}

impl FromStr for ListenAddress {
    type Err = String;

    /// A port, which is one of this computer alone, or an address and a port.
    fn from_str(text: &str) -> Result<ListenAddress, String> {
        let port = text.parse().map(ListenAddress::local);
        port.or_else(|_| text.parse().map(ListenAddress)).map_err(|_| {
            "write a port, such as 9000, or the address of a network interface and a port, such as 192.168.1.5:9000 or \
             0.0.0.0:9000"
                .into()
        })
    }
}

impl std::fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// What to do about a port that the system refuses.
pub(crate) fn remedy(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => "choose another port, or end the program that has it",
        std::io::ErrorKind::PermissionDenied => "choose a port from 1024 on",
        _ => "choose an address of this computer, or give the port alone",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_for_this_computer() {
        let address = |text: &str| text.parse::<ListenAddress>().map(|it| it.to_string());
        assert_eq!(address("9000"), Ok("127.0.0.1:9000".into()));
        assert_eq!(address("0.0.0.0:9000"), Ok("0.0.0.0:9000".into()));
        assert_eq!(address("[::1]:9000"), Ok("[::1]:9000".into()));
        for wrong in ["", "x", "65536", "-1", "localhost:9000", "127.0.0.1", "::1"] {
            assert!(address(wrong).unwrap_err().contains("such as 9000"), "{wrong}");
        }
    }
}
