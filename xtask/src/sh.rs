//! Running commands: from the project's root, announced, with errors that name the command.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Errors are sentences for the person at the terminal; no code matches on them.
pub type Result<T = ()> = std::result::Result<T, String>;

/// Returns the folder that holds the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Returns Cargo's target folder, wherever the user's settings put it: this program was built into it.
pub fn target_dir() -> PathBuf {
    let exe = std::env::current_exe().ok();
    exe.as_deref().and_then(Path::parent).and_then(Path::parent).map_or_else(|| root().join("target"), Path::to_path_buf)
}

/// A command with the text that announces it.
pub struct Sh {
    command: Command,
    shown: String,
    quiet: bool,
}

/// Makes a command run from the project's root.
pub fn sh(program: impl AsRef<OsStr>) -> Sh {
    let mut command = Command::new(program.as_ref());
    command.current_dir(root());
    let name = Path::new(program.as_ref()).file_name().unwrap_or(program.as_ref());
    Sh { command, shown: name.to_string_lossy().into_owned(), quiet: false }
}

/// Makes the command for the cargo that runs this program.
pub fn cargo() -> Sh {
    sh(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Compiles without tables of lines, which cost a third of the time. A panic says its place all the same.
pub fn without_lines(command: Sh) -> Sh {
    command.env("CARGO_PROFILE_DEV_DEBUG", "false")
}

/// Makes the command for npm, which is a script of another name on Windows.
pub fn npm() -> Sh {
    sh(if cfg!(windows) { "npm.cmd" } else { "npm" })
}

impl Sh {
    /// Adds one argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.shown.push(' ');
        let shown = arg.as_ref().to_string_lossy();
        let inside = root().to_string_lossy();
        let relative = shown.strip_prefix(inside.as_ref()).map(|rest| &rest[1..]);
        self.shown.push_str(relative.unwrap_or(&shown));
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(self, args: impl IntoIterator<Item = S>) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    /// Sets an environment variable for the command.
    pub fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// Does not announce the command.
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Prints the command, runs it with our own input and output, and fails when it fails.
    pub fn run(mut self) -> Result {
        if !self.quiet {
            println!("$ {}", self.shown);
        }
        let status = self.command.status().map_err(|error| self.cannot_start(&error))?;
        if status.success() { Ok(()) } else { Err(format!("`{}` failed ({status})", self.shown)) }
    }

    /// Returns the standard output of a command that succeeds silently; `None` when it is absent or fails.
    pub fn read(mut self) -> Option<String> {
        let output = self.command.stderr(Stdio::null()).stdin(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Starts the command with a pipe as its input, which closes when we end.
    pub fn spawn(mut self) -> Result<std::process::Child> {
        println!("$ {}", self.shown);
        self.command.stdin(Stdio::piped()).spawn().map_err(|error| self.cannot_start(&error))
    }

    /// Starts the command without input, and with a file for its output.
    pub fn spawn_into(mut self, log: std::fs::File) -> Result<std::process::Child> {
        let errors = log.try_clone().map_err(|error| self.cannot_start(&error))?;
        self.command.stdin(Stdio::null()).stdout(log).stderr(errors);
        self.command.spawn().map_err(|error| self.cannot_start(&error))
    }

    fn cannot_start(&self, error: &std::io::Error) -> String {
        format!("`{}` could not be started: {error}", self.shown)
    }
}
