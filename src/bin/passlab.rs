//! The command line: arguments in, text out. What it does is in the library.

use clap::{Args, Parser, Subcommand};
use passlab::cli;
use passlab::parse::Options;

#[derive(Parser)]
#[command(name = "passlab", version, about = "Step through the passes of TVM programs")]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Of a text with several modules, functions or programs, the one that is read
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

fn main() {
    let Cli { command, pick, defines } = Cli::parse();
    let output = match cli::reading(pick.as_deref(), &defines) {
        Ok(reading) => run(&command, &reading),
        Err(output) => output,
    };
    eprint!("{}", output.stderr);
    print!("{}", output.stdout);
    std::process::exit(output.status);
}

fn run(command: &Command, reading: &Options) -> cli::Output {
    match command {
        Command::Opt(opt) => cli::opt(&cli::OptOptions {
            file: &opt.file,
            passes: opt.passes.as_deref(),
            pipeline: opt.pipeline.as_deref(),
            opt_level: opt.opt_level,
            required: &opt.required,
            disabled: &opt.disabled,
            config: &opt.config,
            direct: opt.direct,
            print_changed: opt.print_changed,
            verify_each: opt.verify_each,
            instruments: &opt.instruments,
            dump_ir: opt.dump_ir.as_deref(),
            timing: opt.timing,
            json: opt.json,
            check: opt.check,
            reading: reading.clone(),
        }),
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
