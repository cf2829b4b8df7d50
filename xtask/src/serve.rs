//! `cargo xtask serve`: Vite serves the page; a change in the engine's sources rebuilds the engine.

use crate::engine::{Goal, engine};
use crate::setup;
use crate::sh::{Result, root, sh};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

/// The interval between looks at the sources. A look at 200 files takes about a millisecond.
const POLL: Duration = Duration::from_millis(300);

/// Serves the page until interrupted.
pub fn serve(args: &[String]) -> Result {
    let (host, port) = address(args)?;
    setup::npm_packages()?;
    let mut seen = sources();
    engine(Goal::Serve)?;
    let mut vite = sh("node")
        .arg(root().join("xtask/vite.mjs"))
        .args(["--host", &host, "--port", &port, "--clearScreen", "false"])
        .spawn()?;
    println!("watching src/ for changes; Ctrl-C ends");
    loop {
        sleep(POLL);
        if let Some(status) = vite.try_wait().map_err(|error| error.to_string())? {
            return Err(format!("the dev server ended ({status})"));
        }
        let now = sources();
        if now == seen {
            continue;
        }
        // An editor may be in the middle of saving several files: wait until they hold still.
        sleep(POLL / 3);
        if sources() != now {
            continue;
        }
        println!("\nengine: {} changed, rebuilding", changed(&seen, &now));
        seen = now;
        if let Err(message) = engine(Goal::Serve) {
            println!("engine: not rebuilt, the page keeps the last good one: {message}");
        }
    }
}

/// Returns the host and port asked for; 127.0.0.1:5173 unless told otherwise.
fn address(args: &[String]) -> Result<(String, String)> {
    let (mut host, mut port) = ("127.0.0.1".to_owned(), "5173".to_owned());
    let mut args = args.iter();
    while let Some(flag) = args.next() {
        let value = args.next().ok_or_else(|| format!("{flag} wants a value"))?;
        match flag.as_str() {
            "--host" => host.clone_from(value),
            "--port" if value.parse::<u16>().is_ok() => port.clone_from(value),
            "--port" => return Err(format!("{value} is not a port")),
            _ => return Err(format!("serve knows --host and --port, not {flag}")),
        }
    }
    Ok((host, port))
}

type Sources = BTreeMap<PathBuf, SystemTime>;

/// Returns every file that the engine is made of, with the time it was last written.
fn sources() -> Sources {
    let mut found = Sources::new();
    let mut folders = vec![root().join("src")];
    note(&root().join("Cargo.toml"), &mut found);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                note(&path, &mut found);
            }
        }
    }
    found
}

fn note(path: &Path, found: &mut Sources) {
    if let Ok(time) = path.metadata().and_then(|file| file.modified()) {
        found.insert(path.to_path_buf(), time);
    }
}

/// Returns one of the files that differ, for the message.
fn changed(before: &Sources, after: &Sources) -> String {
    let new = after.iter().find(|(path, time)| before.get(*path) != Some(time));
    let gone = || before.iter().find(|(path, _)| !after.contains_key(*path));
    let path = new.or_else(gone).map(|(path, _)| path.as_path()).unwrap_or(Path::new("src"));
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::address;

    fn parsed(args: &[&str]) -> Result<(String, String), String> {
        address(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn port_and_host_have_defaults_and_bad_ones_are_refused() {
        assert_eq!(parsed(&[]), Ok(("127.0.0.1".into(), "5173".into())));
        assert_eq!(parsed(&["--port", "80"]), Ok(("127.0.0.1".into(), "80".into())));
        assert_eq!(parsed(&["--host", "0.0.0.0"]), Ok(("0.0.0.0".into(), "5173".into())));
        assert!(parsed(&["--port", "70000"]).is_err());
        assert!(parsed(&["--port"]).is_err());
        assert!(parsed(&["--prot", "1"]).is_err());
    }
}
