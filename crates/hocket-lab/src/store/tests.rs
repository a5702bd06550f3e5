//! Record files that are good and bad.
