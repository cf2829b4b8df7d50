//! The command line.

fn main() {
    eprintln!("usage: passlab COMMAND FILE");
    std::process::exit(2);
}
