//! The command line: arguments in, text out. Its work is done in the library.

use clap::{Args, Parser, Subcommand};
use passlab::cli;
use passlab::parse::Options;
use std::io::Write;

#[derive(Parser)]
#[command(name = "passlab", version, about = "Step through the passes of TVM programs")]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Of a text with several modules, functions or programs, the one that is read: its name or its number
    #[arg(long, global = true)]
    pick: Option<String>,
    /// The value of a name that comes from around the program: n=128, dtype=float32
    #[arg(long = "define", global = true)]
    defines: Vec<String>,
}

#[derive(Subcommand)]
enum Command {
    /// Run passes over a program and print the result
    Opt(Opt),
    /// Find the first step, and its rewrite, after which a property of the program is lost
    Bisect {
        #[command(flatten)]
        opt: Opt,
        /// check, verify, diagnostic[:TEXT], contains:TEXT, not:contains:TEXT, count:OP>=N, or command:PROGRAM, which gets each
        /// version on its standard input and succeeds when it is fine
        #[arg(long, default_value = "check")]
        property: String,
    },
    /// Make a program and its list small while a property is still lost to the same pass
    Reduce {
        #[command(flatten)]
        opt: Opt,
        /// As of bisect
        #[arg(long, default_value = "check")]
        property: String,
        /// Stop after this many seconds with the best so far
        #[arg(long, default_value_t = 60)]
        seconds: u64,
    },
    /// Run every pass and pipeline on a program, or on made-up ones; verify and check every step
    CheckPasses {
        /// The program; `-` is standard input
        #[arg(required_unless_present = "random")]
        file: Option<String>,
        /// Make up this many programs instead
        #[arg(long, conflicts_with = "file")]
        random: Option<u64>,
        /// The number that the first of them is made from
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Run only passes whose call has this in it
        #[arg(long, default_value = "")]
        only: String,
    },
    /// Parse, verify and infer; print what is wrong
    Check { file: String },
    /// Print the program as TVM prints it after parsing
    Fmt { file: String },
    /// The same after InferType
    Infer { file: String },
    /// Structural equality as TVM defines it; on a difference, say where
    Equal { a: String, b: String },
    /// Apply the instructions of a schedule, written as TVM prints a trace
    Schedule {
        file: String,
        trace: String,
        /// Instead of the program, what it does after each instruction, by counting; with the bytes of a cache and of its
        /// lines: --cost=32768/64
        #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "")]
        cost: Option<String>,
    },
    /// Run a function
    Eval(Eval),
    /// Print the link of a reproducer file, or of a plain program
    Link { file: String },
    /// Print the reproducer file of a link
    Open { link: String },
    /// List every pass
    Passes {
        #[arg(long)]
        json: bool,
    },
    /// List every operator
    Ops {
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
struct Opt {
    /// The program; `-` is standard input. Of a reproducer file the passes and the context count too
    file: String,
    /// Passes as TVM's Python calls them: 'FoldConstant(), FuseOps(fuse_opt_level=2)'
    #[arg(long, conflicts_with = "pipeline")]
    passes: Option<String>,
    /// A named list of passes, such as relay.build
    #[arg(long)]
    pipeline: Option<String>,
    /// Passes of a higher level do not run; 2 unless the file says otherwise
    #[arg(long)]
    opt_level: Option<i64>,
    /// Names of passes that run whatever the level
    #[arg(long, value_delimiter = ',')]
    required: Vec<String>,
    /// Names of passes that do not run
    #[arg(long, value_delimiter = ',')]
    disabled: Vec<String>,
    /// A configuration key: key=value
    #[arg(long)]
    config: Vec<String>,
    /// Call each pass directly: levels and lists do not gate
    #[arg(long)]
    direct: bool,
    /// Print the program after each step that changed it, to standard error
    #[arg(long)]
    print_changed: bool,
    /// Fail the pass that leaves an ill-formed program
    #[arg(long)]
    verify_each: bool,
    /// Switch an instrument on: PrintAfterAll, 'PassPrintingInstrument([], ["FuseOps"])', OpStatistics, RewriteLog
    #[arg(long = "instrument")]
    instruments: Vec<String>,
    /// Write the program after each pass to a folder, as TVM's DumpIR
    #[arg(long)]
    dump_ir: Option<String>,
    /// Print the time of each pass, to standard error
    #[arg(long)]
    timing: bool,
    /// Run the program before and after each step that changed it, on the same inputs; 1 when they give something else
    #[arg(long)]
    check: bool,
    /// Print the steps and the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Eval {
    /// The program; `-` is standard input
    file: String,
    /// The function to run
    #[arg(long, default_value = "main")]
    func: String,
    /// A JSON list of arguments: {dtype, shape, b64}, {scalar}, {tuple}
    #[arg(long, conflicts_with = "seed")]
    args: Option<String>,
    /// Make the arguments up from this seed
    #[arg(long)]
    seed: Option<u64>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Count what a tensor program does, instead of its result: loads, stores, arithmetic, bytes, lines of a cache; with the
    /// bytes of the cache and of its lines: --cost=32768/64
    #[arg(long, conflicts_with = "json", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    cost: Option<String>,
}

impl Opt {
    fn options(&self, reading: &Options) -> cli::OptOptions<'_> {
        cli::OptOptions {
            file: &self.file,
            passes: self.passes.as_deref(),
            pipeline: self.pipeline.as_deref(),
            opt_level: self.opt_level,
            required: &self.required,
            disabled: &self.disabled,
            config: &self.config,
            direct: self.direct,
            print_changed: self.print_changed,
            verify_each: self.verify_each,
            instruments: &self.instruments,
            dump_ir: self.dump_ir.as_deref(),
            timing: self.timing,
            json: self.json,
            check: self.check,
            reading: reading.clone(),
        }
    }
}

fn main() {
    let Cli { command, pick, defines } = Cli::parse();
    let output = match cli::reading(pick.as_deref(), &defines) {
        Ok(reading) => run(&command, &reading),
        Err(output) => output,
    };
    // A reader may have seen enough (`passlab opt ... | head`): nothing is left to say then.
    let _ = std::io::stderr().write_all(output.stderr.as_bytes());
    let _ = std::io::stdout().write_all(output.stdout.as_bytes());
    std::process::exit(output.status);
}

fn run(command: &Command, reading: &Options) -> cli::Output {
    match command {
        Command::Opt(opt) => cli::opt(&opt.options(reading)),
        Command::Bisect { opt, property } => cli::bisect(&opt.options(reading), property),
        Command::Reduce { opt, property, seconds } => cli::reduce(&opt.options(reading), property, *seconds),
        Command::CheckPasses { file, random, seed, only } => {
            cli::check_passes(file.as_deref(), random.unwrap_or(0), *seed, only, reading)
        }
        Command::Check { file } => cli::check(file, reading),
        Command::Fmt { file } => cli::fmt(file, reading),
        Command::Infer { file } => cli::infer(file, reading),
        Command::Equal { a, b } => cli::equal(a, b, reading),
        Command::Schedule { file, trace, cost } => match cost.as_deref().map(cli::cache).transpose() {
            Ok(cache) => cli::schedule(file, trace, cache, reading),
            Err(output) => output,
        },
        Command::Eval(eval) => {
            let cache = match eval.cost.as_deref().map(cli::cache).transpose() {
                Ok(cache) => cache,
                Err(output) => return output,
            };
            cli::eval(&eval.file, &eval.func, eval.args.as_deref(), eval.seed.unwrap_or(0), eval.json, cache, reading)
        }
        Command::Link { file } => cli::link::encode(file),
        Command::Open { link } => cli::link::decode(link),
        Command::Passes { json } => cli::passes(*json),
        Command::Ops { json } => cli::ops(*json),
    }
}
