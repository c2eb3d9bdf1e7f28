#include "arguments.h"

#include <fmt/format.h>
#include <plimsoll/text.h>
#include <plimsoll/version.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include "verbs.h"

namespace {

using plimsoll::JobOverride;
using plimsoll::Result;
using plimsoll::Status;
using Words = std::vector<std::string>;

enum FlagSet : unsigned {
  JobFlags = 1,     // short names of job keys, and --section.key=value
  RunFlags = 2,     // --out
  ConfigFlags = 4,  // --print-config
  DryRun = 8,
  ProgressFlags = 16,
  DataFlags = 32,   // evaluate's own
  CurveFlags = 64,  // plan's own
  ResizeFlags = 128,
  ResumeFlags = 256,
  ExplainFlags = 512,
  WatchFlags = 1024,
  BenchFlags = 2048,
  PredictFlags = 4096,
  GenerateFlags = 8192,
  QuietFlags = 16384,  // the part of ProgressFlags that is not about a run
};

struct Verb {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view target;  // name of the positional; empty: none
  std::string_view target_about;
  std::string_view about;
  unsigned flags;
  std::array<std::string_view, 2> examples;
  int (*run)(const Arguments&);
};

const std::vector<Verb>& Verbs() {
  static const std::vector<Verb> kVerbs = {
      {"train",
       {"fit"},
       "JOB",
       "job file, TOML or JSON; not needed when flags say it all",
       "plans a job inside its memory budget, then trains it",
       JobFlags | RunFlags | ResumeFlags | ConfigFlags | DryRun | ProgressFlags,
       {"plimsoll train --task classify --data reviews.tsv --memory 200MB", "plimsoll train --resume runs/job --memory 100MB"},
       RunTrain},
      {"plan",
       {},
       "JOB",
       "job file, TOML or JSON",
       "says whether and how a job fits its budget; trains nothing",
       JobFlags | ConfigFlags | CurveFlags,
       {"plimsoll plan job.toml --memory 64MB", "plimsoll plan job.toml --curve --out curve.svg"},
       RunPlan},
      {"evaluate",
       {"eval", "test"},
       "RUN",
       "run folder or model folder",
       "scores a trained model",
       DataFlags | QuietFlags,
       {"plimsoll evaluate runs/reviews", "plimsoll evaluate runs/reviews --data test.npz --json"},
       RunEvaluate},
      {"predict",
       {},
       "RUN",
       "run folder or model folder",
       "tells what a trained model says of new data: a line for each sample",
       PredictFlags,
       {"plimsoll predict runs/reviews new.txt --top 3", "plimsoll predict runs/reviews --format tsv < new.txt > said.tsv"},
       RunPredict},
      {"generate",
       {},
       "RUN",
       "run folder or model folder of a language model",
       "makes text with a language model",
       GenerateFlags | QuietFlags,
       {"plimsoll generate runs/plays --prompt 'ROMEO:' --tokens 500 --temperature 0.8",
        "plimsoll generate runs/names --count 20 --json"},
       RunGenerate},
      {"lengths",
       {},
       "JOB",
       "job file, TOML or JSON; not needed when flags say it all",
       "shows how long the samples are and what that means for memory",
       JobFlags | ConfigFlags | ProgressFlags,
       {"plimsoll lengths job.toml", "plimsoll lengths --task classify --data reviews.tsv"},
       RunLengths},
      {"summary",
       {},
       "JOB",
       "job file, TOML or JSON",
       "lists the layers with shapes, parameters and bytes",
       JobFlags | ConfigFlags,
       {"plimsoll summary job.toml", "plimsoll summary job.toml --model.layers.0.units=256"},
       RunSummary},
      {"verify",
       {},
       "JOB",
       "job file, TOML or JSON",
       "compares one step under the plan with plain loops in double precision",
       JobFlags | ConfigFlags,
       {"plimsoll verify job.toml", "plimsoll verify job.toml --memory 64MB --json"},
       RunVerify},
      {"resize",
       {},
       "RUN",
       "run folder of a job that is training now",
       "gives a running job a new memory budget; it takes it between two updates",
       ResizeFlags,
       {"plimsoll resize runs/reviews --memory 128MB", "plimsoll resize runs/reviews --memory 2GB --json"},
       RunResize},
      {"explain",
       {},
       "RUN",
       "run folder",
       "tells who owned a run's memory and where its time went; writes report.html",
       ExplainFlags,
       {"plimsoll explain runs/reviews", "plimsoll explain runs/reviews --against runs/reviews-2 --out both.html"},
       RunExplain},
      {"watch",
       {},
       "RUN",
       "run folder, also of a job that is training now",
       "shows a run as a live page on this machine",
       WatchFlags,
       {"plimsoll watch runs/reviews", "plimsoll watch runs/reviews --port 0"},
       RunWatch},
      {"bench",
       {},
       "PROBLEM",
       "such as \"lstm t100 b64 d256 h256\": steps, rows, inputs, units",
       "measures how fast this machine trains, and in how much memory",
       BenchFlags,
       {"plimsoll bench", "plimsoll bench \"lstm t100 b64 d256 h256\" \"gru t900 b32 d128 h128 ragged m40MB\" --json"},
       RunBench},
      {"completion",
       {},
       "SHELL",
       "bash, zsh or fish; man for the manual page",
       "writes what a shell needs to complete plimsoll's words, or the man page",
       0,
       {"plimsoll completion bash > ~/.local/share/bash-completion/completions/plimsoll", "plimsoll completion man | man -l -"},
       RunCompletion},
      {"doctor",
       {},
       "",
       "",
       "shows the processor, the kernels chosen for it and the memory limits found",
       0,
       {"plimsoll doctor", "plimsoll doctor --json"},
       RunDoctor},
      {"demo",
       {},
       "",
       "",
       "trains a small built-in job and shows what its memory did",
       JobFlags | RunFlags | ConfigFlags | ProgressFlags,
       {"plimsoll demo", "plimsoll demo --memory 24MB --epochs 2"},
       RunDemo},
  };
  return kVerbs;
}

constexpr std::array<std::string_view, 5> kFormats = {"auto", "bar", "line", "json", "none"};
constexpr std::array<std::string_view, 2> kAnswerFormats = {"jsonl", "tsv"};
constexpr std::array<std::string_view, 6> kInputFormats = {"auto", "text", "tsv", "csv", "jsonl", "conll"};
constexpr std::array<std::string_view, 3> kColors = {"auto", "never", "always"};

// Short names of job keys. Their values are checked by the job's own table.
struct ShortFlag {
  const char* flag;
  const char* key;
  const char* value;
  const char* about;
  bool listed = true;  // in --help, which fits a screen; docs/training.md tells of the others
};
constexpr std::array kShortFlags = {
    ShortFlag{"--memory", "memory.budget", "SIZE", "peak of the whole process: bytes, 256MB, 80%, auto"},
    ShortFlag{"--max-recompute", "memory.max_recompute", "N", "times a block may be run again; 3 unless said", false},
    ShortFlag{"--spill", "memory.spill", "DIR", "a folder on a disk that may take State for recompute", false},
    ShortFlag{"--task", "task", "TASK", "classify, regress, tag, lm or forecast"},
    ShortFlag{"--data", "data.train", "FILE", "training data: text, TSV, CSV, JSON lines, .npz, generate:..."},
    ShortFlag{"--skip-bad", "data.skip_bad", "N", "bad lines to pass over, counted and listed", false},
    ShortFlag{"--max-length", "data.max_length", "N", "cut longer samples, and count them", false},
    ShortFlag{"--valid", "data.valid", "FILE|SHARE", "validation data, or a share of the training data"},
    ShortFlag{"--epochs", "train.epochs", "N", "passes over the training data"},
    ShortFlag{"--max-steps", "train.max_steps", "N", "end after this many updates"},
    ShortFlag{"--batch-size", "train.batch_size", "N", "sequences one update covers"},
    ShortFlag{"--batch-tokens", "train.batch_tokens", "N", "instead: at most so many steps an update", false},
    ShortFlag{"--lr", "train.learning_rate", "X", "learning rate"},
    ShortFlag{"--optimizer", "train.optimizer", "NAME", "adam, adamw, sgd, rmsprop, adagrad or lazy_adam"},
    ShortFlag{"--lr-schedule", "train.lr_schedule", "NAME", "constant, linear, cosine, one_cycle, ...", false},
    ShortFlag{"--warmup-steps", "train.warmup_steps", "N", "updates in which the rate rises from 0", false},
    ShortFlag{"--clip-norm", "train.clip_norm", "X", "bound on the norm of the whole gradient"},
    ShortFlag{"--truncate", "train.truncate", "N", "steps that backpropagation sees; 0: all", false},
    ShortFlag{"--patience", "train.patience", "N", "end behind so many epochs without a better one"},
    ShortFlag{"--monitor", "train.monitor", "NAME", "what is better: val_loss, val_accuracy, ...", false},
    ShortFlag{"--save-every", "train.save_every", "TIME|N", "between snapshots: 10m unless said, or updates"},
    ShortFlag{"--keep", "train.keep", "N", "snapshots that stay, beside the best; 2 unless said", false},
    ShortFlag{"--init-from", "init_from", "MODEL", "begin with the weights of this model folder", false},
    ShortFlag{"--seed", "train.seed", "N", "of weights, order and dropout"},
    ShortFlag{"--threads", "train.threads", "N", "0: all cores"},
};

const Verb* FindVerb(std::string_view name) {
  for (const Verb& verb : Verbs()) {
    if (verb.name == name || std::count(verb.aliases.begin(), verb.aliases.end(), name) > 0) return &verb;
  }
  return nullptr;
}

Status UnknownVerb(const std::string& name) {
  if (name.ends_with(".toml") || name.ends_with(".json"))
    return Status::Usage(fmt::format("a verb comes first, and {} is none", name), fmt::format("plimsoll train {}", name));
  if (name.starts_with("-")) return Status::Usage(fmt::format("a verb comes first, and {} is none", name), "plimsoll --help");
  std::vector<std::string_view> names;
  for (const Verb& verb : Verbs()) {
    names.push_back(verb.name);
    names.insert(names.end(), verb.aliases.begin(), verb.aliases.end());
  }
  return Status::Usage(fmt::format("unknown verb {}{}", name, plimsoll::DidYouMean(name, names)), "plimsoll --help");
}

std::string GeneralHelp() {
  std::string text =
      "plimsoll trains recurrent models inside a memory budget that you state.\n"
      "Usage: plimsoll VERB [JOB.toml] [--flag value] [--section.key=value]\n\nVerbs:\n";
  for (const Verb& verb : Verbs()) {
    std::string names(verb.name);
    for (const std::string_view alias : verb.aliases) names += fmt::format(", {}", alias);
    text += fmt::format("  {:<22}{}\n", names, verb.about);
  }
  return text +
         "\n`plimsoll VERB --help` lists a verb's flags; --version says which plimsoll this is.\n"
         "Any key of a job can be given as a flag: --train.epochs=5, --model.layers.0.units=64.\n"
         "Exit codes: 2 usage or job file, 3 data, 4 does not fit the budget, 5 diverged,\n"
         "            6 a promise broken (a bug of ours), 7 cannot write, 1 internal error,\n"
         "            130 and 143 stopped by a signal, state saved.\n"
         "\nExamples:\n  plimsoll demo\n  plimsoll train job.toml --memory 200MB\n";
}

// --train.epochs=5 and --train.epochs 5 leave `typed` and become overrides.
Result<std::vector<JobOverride>> TakeDottedFlags(Words& typed) {
  std::vector<JobOverride> overrides;
  Words rest;
  for (size_t i = 0; i < typed.size(); ++i) {
    const std::string& word = typed[i];
    if (word == "--") {
      rest.insert(rest.end(), typed.begin() + static_cast<std::ptrdiff_t>(i), typed.end());
      break;
    }
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || name.find('.') == std::string::npos) {
      rest.push_back(word);
    } else if (name.size() < word.size()) {
      overrides.push_back({name.substr(2), word.substr(name.size() + 1)});
    } else if (i + 1 < typed.size() && !typed[i + 1].starts_with("--")) {
      overrides.push_back({name.substr(2), typed[++i]});
    } else {
      return Status::Usage(fmt::format("{} has no value", name), fmt::format("{}=VALUE", name));
    }
  }
  typed = std::move(rest);
  return overrides;
}

// What CLI11 fills in for the short flags, beside what it fills in directly.
struct Bound {
  std::array<std::string, kShortFlags.size()> values;
  std::array<CLI::Option*, kShortFlags.size()> options = {};
  bool skip_nonfinite = false;
  std::string max_time;
};

void AddFlags(CLI::App& app, const Verb& verb, Arguments& arguments, Bound& bound) {
  if (verb.flags & BenchFlags) {
    app.add_option(std::string(verb.target), arguments.problems, std::string(verb.target_about))->type_name("");
    app.add_option("--threads", arguments.threads, "0: all cores")->type_name("N")->take_last();
    app.add_option("--seconds", arguments.seconds, "that each problem is timed; 3 unless said")->type_name("S")->take_last();
  } else if (!verb.target.empty()) {
    app.add_option(std::string(verb.target), arguments.target, std::string(verb.target_about))->type_name("");
  }
  if (verb.flags & JobFlags) {
    for (size_t i = 0; i < kShortFlags.size(); ++i) {
      const ShortFlag& flag = kShortFlags[i];
      bound.options[i] = app.add_option(flag.flag, bound.values[i], flag.about)
                             ->type_name(flag.value)
                             ->group(flag.listed ? "Job" : "")
                             ->take_last();
    }
    app.add_flag("--skip-nonfinite", bound.skip_nonfinite, "leave out updates that are not finite, a few")->group("");
  }
  if (verb.flags & DataFlags) {
    app.add_option("--data", arguments.data_file, "other data than the run's own")->type_name("FILE")->take_last();
    app.add_option("--targets", arguments.targets, ".npy of y, beside a .npy data file")->type_name("FILE")->take_last();
    app.add_option("--lengths", arguments.lengths, ".npy of lengths, beside a .npy data file")->type_name("FILE")->take_last();
    app.add_option("--target-lengths", arguments.target_lengths, "the same of the labels of loss ctc")
        ->type_name("FILE")
        ->take_last();
    app.add_option("--initial-state", arguments.initial_state, ".npy of what State begins with, beside a .npy data file")
        ->type_name("FILE")
        ->take_last();
    app.add_option("--memory", arguments.memory, "instead of the budget of the run")->type_name("SIZE")->take_last();
    app.add_option("--threads", arguments.threads, "0: as the run had")->type_name("N")->take_last();
  }
  if (verb.flags & PredictFlags) {
    app.add_option("FILE", arguments.input, "text, a table, JSON lines, .npy or .npz; -, or none: stdin")->type_name("");
    app.add_option("--top", arguments.top, "classes that are told with their probabilities; 1 unless said")
        ->type_name("N")
        ->take_last();
    app.add_option("--format", arguments.format, "of the answer: jsonl or tsv")->type_name("HOW")->take_last();
    app.add_option("--input-format", arguments.input_format, "of text: auto, text, tsv, csv, jsonl or conll")
        ->type_name("HOW")
        ->take_last();
    app.add_option("--skip-bad", arguments.skip_bad, "bad lines to pass over; each has its line in the answer")
        ->type_name("N")
        ->take_last();
    app.add_option("--lengths", arguments.lengths, ".npy of lengths, beside a .npy file")->type_name("FILE")->take_last();
    app.add_option("--initial-state", arguments.initial_state, ".npy of what State begins with, beside a .npy file")
        ->type_name("FILE")
        ->take_last();
    app.add_option("--memory", arguments.memory, "instead of the budget of the run")->type_name("SIZE")->take_last();
    app.add_option("--threads", arguments.threads, "0: as the run had")->type_name("N")->take_last();
  }
  if (verb.flags & GenerateFlags) {
    app.add_option("--prompt", arguments.prompt, "what the text follows")->type_name("TEXT")->take_last();
    app.add_option("--prompt-file", arguments.prompt_file, "the same from a file")->type_name("FILE")->take_last();
    app.add_option("--tokens", arguments.tokens, "most tokens of a text; 256 unless said")->type_name("N")->take_last();
    app.add_option("--temperature", arguments.temperature, "1 unless said; 0: the most probable token each time")
        ->type_name("X")
        ->take_last();
    app.add_option("--top-k", arguments.top_k, "draw from so many of the most probable tokens; 0: all")
        ->type_name("N")
        ->take_last();
    app.add_option("--top-p", arguments.top_p, "draw from those that have this probability together; 1: all")
        ->type_name("X")
        ->take_last();
    app.add_option("--seed", arguments.seed, "of the draws; 1 unless said")->type_name("N")->take_last();
    app.add_option("--stop", arguments.stop, "a text ends before this")->type_name("TEXT")->take_last();
    app.add_option("--count", arguments.count, "texts to make; 1 unless said")->type_name("N")->take_last();
    app.add_option("--memory", arguments.memory, "instead of the budget of the run")->type_name("SIZE")->take_last();
    app.add_option("--threads", arguments.threads, "0: as the run had")->type_name("N")->take_last();
  }
  if (verb.flags & CurveFlags) {
    app.add_flag("--curve", arguments.curve, "what memory buys: budgets against time, table and picture")->group("Run");
    app.add_option("--out", arguments.out, "with --curve: write the picture to this .svg file")
        ->type_name("FILE")
        ->group("Run")
        ->take_last();
  }
  if (verb.flags & ResizeFlags) {
    app.add_option("--memory", arguments.memory, "the new budget: bytes, 256MB, 80%, auto")->type_name("SIZE")->take_last();
    app.add_option("--wait", arguments.wait_seconds, "seconds to wait for the answer; 120 unless said")
        ->type_name("SECONDS")
        ->take_last();
  }
  if (verb.flags & ExplainFlags) {
    app.add_option("--against", arguments.against, "another run, to be shown beside it")->type_name("RUN2")->take_last();
    app.add_option("--out", arguments.out, "write the page here; report.html in the run folder unless said")
        ->type_name("FILE")
        ->take_last();
  }
  if (verb.flags & WatchFlags) {
    app.add_option("--port", arguments.port, "of 127.0.0.1; 6006 unless said, 0: any that is free")
        ->type_name("N")
        ->take_last();
  }
  if (verb.flags & RunFlags) {
    app.add_option("--out", arguments.out, "run folder; where it exists, DIR-2, DIR-3, ...")
        ->type_name("DIR")
        ->group("Run")
        ->take_last();
  }
  if (verb.flags & ResumeFlags) {
    app.add_option("--resume", arguments.resume, "go on: last or best of --out, a run folder or a snapshot")
        ->type_name("WHICH")
        ->group("Run")
        ->take_last();
    app.add_flag("--allow-changes", arguments.allow_changes, "with --resume: of the job, where they are harmless")->group("");
    app.add_option("--max-time", bound.max_time, "save and end after 90s, 10m, 2h, ...")
        ->type_name("TIME")
        ->group("Run")
        ->take_last();
  }
  if (verb.flags & DryRun) app.add_flag("--dry-run", arguments.dry_run, "plan, and train nothing")->group("Run");
  if (verb.flags & ConfigFlags) {
    app.add_flag("--print-config", arguments.print_config, "write the complete job as TOML, and end")->group("Run");
  }
  app.add_flag("--json", arguments.json, "the result, or the error, as one JSON object")->group("Run");
  if (verb.flags & (ProgressFlags | QuietFlags)) {
    app.add_flag("--quiet", arguments.quiet, "no progress")->group("Run");
    app.add_option("--log-format", arguments.log_format, "auto, bar, line, json or none")
        ->type_name("HOW")
        ->group("Run")
        ->take_last();
    app.add_option("--color", arguments.color, "auto, never or always")->type_name("WHEN")->group("Run")->take_last();
  }
  if (verb.flags & ProgressFlags) {
    app.add_option("--log-every", arguments.log_every, "updates between two lines of the run's logs")
        ->type_name("N")
        ->group("")
        ->take_last();
    app.add_flag("--no-report", arguments.no_report, "leave report.html unwritten")->group("");
    app.add_flag("--trace", arguments.trace, "write trace.json, a timeline of updates 2 to 4")->group("Run");
    app.add_option("--trace-steps", arguments.trace_steps, "of these updates: 100 or 100-102")
        ->type_name("A-B")
        ->group("")
        ->take_last();
  }
  app.set_help_flag("-h,--help", "this text")->group("Run");
}

std::string VerbHelp(const CLI::App& app, const Verb& verb) {
  std::string text = app.help();
  for (size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n")) text.erase(at, 1);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (verb.flags & JobFlags) text += "\n\nEvery key of the job file is a flag too: --section.key=value.";
  return fmt::format("{}\n\nExamples:\n  {}\n  {}\n", text, verb.examples[0], verb.examples[1]);
}

Status UnknownFlag(const CLI::App& app, const Verb& verb, const Words& left) {
  const auto flag =
      std::find_if(left.begin(), left.end(), [](const std::string& word) { return word.size() > 1 && word[0] == '-'; });
  const std::string help = fmt::format("plimsoll {} --help", verb.name);
  if (flag == left.end() || *flag == "--")
    return Status::Usage(fmt::format("{} takes no further argument, got {}", verb.name, left.back()), help);
  const std::string name = flag->substr(0, flag->find('='));
  Words names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional()) names.push_back(option->get_name(false, false));
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  return Status::Usage(fmt::format("unknown flag {} of {}{}", name, verb.name, plimsoll::DidYouMean(name, known)), help);
}

Status CheckChoice(std::string_view flag, const std::string& given, std::span<const std::string_view> choices) {
  if (std::count(choices.begin(), choices.end(), given) > 0) return Status::Ok();
  return Status::Usage(fmt::format("{}: wanted one of {}, got {}{}", flag, fmt::join(choices, ", "), given,
                                   plimsoll::DidYouMean(given, choices)));
}

Status CheckTraceSteps(const Arguments& arguments) {
  if (arguments.trace_steps.empty() || TracedSteps(arguments).last > 0) return Status::Ok();
  return Status::Usage(fmt::format("--trace-steps: wanted updates such as 100 or 100-102, got {}", arguments.trace_steps));
}

// What no job table checks.
Status CheckValues(const Arguments& arguments) {
  PLIMSOLL_RETURN_IF_ERROR(CheckChoice("--log-format", arguments.log_format, kFormats));
  PLIMSOLL_RETURN_IF_ERROR(CheckChoice("--color", arguments.color, kColors));
  PLIMSOLL_RETURN_IF_ERROR(CheckChoice("--format", arguments.format, kAnswerFormats));
  PLIMSOLL_RETURN_IF_ERROR(CheckChoice("--input-format", arguments.input_format, kInputFormats));
  if (arguments.top < 1 || arguments.top > 65536)
    return Status::Usage(fmt::format("--top: wanted a whole number from 1 to 65536, got {}", arguments.top));
  if (arguments.skip_bad < 0)
    return Status::Usage(fmt::format("--skip-bad: wanted a whole number from 0 on, got {}", arguments.skip_bad));
  if (arguments.log_every < 0)
    return Status::Usage(fmt::format("--log-every: wanted a whole number from 1 on, got {}", arguments.log_every));
  PLIMSOLL_RETURN_IF_ERROR(CheckTraceSteps(arguments));
  if (!(arguments.wait_seconds >= 0.0 && arguments.wait_seconds <= 1e6))
    return Status::Usage(fmt::format("--wait: wanted seconds from 0 to 1000000, got {}", arguments.wait_seconds));
  if (arguments.port < 0 || arguments.port > 65535)
    return Status::Usage(fmt::format("--port: wanted a whole number from 0 to 65535, got {}", arguments.port));
  if (arguments.threads < 0 || arguments.threads > 1024)
    return Status::Usage(fmt::format("--threads: wanted a whole number from 0 to 1024, got {}", arguments.threads));
  return Status::Ok();
}

Result<Parsed> ParseVerb(const Verb& verb, Words typed) {
  Parsed parsed = {.run = verb.run, .arguments = {}, .text = ""};
  Result<std::vector<JobOverride>> dotted = TakeDottedFlags(typed);
  if (!dotted.ok()) return dotted.status();
  if (!(verb.flags & JobFlags) && !dotted->empty())
    return Status::Usage(fmt::format("{} has no job to change with --{}", verb.name, dotted->front().key),
                         fmt::format("plimsoll {} --help", verb.name));

  CLI::App app(std::string(verb.about), fmt::format("plimsoll {}", verb.name));
  app.allow_extras();  // told apart below, with an offer
  app.get_formatter()->column_width(28);
  Bound bound;
  AddFlags(app, verb, parsed.arguments, bound);
  try {
    std::reverse(typed.begin(), typed.end());  // as CLI11 takes them
    app.parse(std::move(typed));
  } catch (const CLI::CallForHelp&) {
    return Parsed{.run = nullptr, .arguments = {}, .text = VerbHelp(app, verb)};
  } catch (const CLI::ParseError& error) {
    return Status::Usage(error.what(), fmt::format("plimsoll {} --help", verb.name));
  }
  if (const Words left = app.remaining(); !left.empty()) return UnknownFlag(app, verb, left);
  PLIMSOLL_RETURN_IF_ERROR(CheckValues(parsed.arguments));
  for (size_t i = 0; i < kShortFlags.size(); ++i) {
    if (bound.options[i] != nullptr && bound.options[i]->count() > 0)
      parsed.arguments.overrides.push_back({kShortFlags[i].key, bound.values[i]});
  }
  if (bound.skip_nonfinite) parsed.arguments.overrides.push_back({"train.skip_nonfinite", "true"});
  if (!bound.max_time.empty()) {
    const Result<double> seconds = plimsoll::ReadDuration(bound.max_time);
    if (!seconds.ok()) return Status::Usage("--max-time: " + seconds.status().message());
    parsed.arguments.max_seconds = seconds.value();
  }
  if (parsed.arguments.allow_changes && parsed.arguments.resume.empty())
    return Status::Usage("--allow-changes belongs to --resume", "plimsoll train --resume RUN --allow-changes");
  for (JobOverride& change : *dotted) parsed.arguments.overrides.push_back(std::move(change));
  return parsed;
}

}  // namespace

std::vector<VerbFacts> DescribeVerbs() {
  std::vector<VerbFacts> described;
  for (const Verb& verb : Verbs()) {
    VerbFacts facts{.name = verb.name,
                    .aliases = verb.aliases,
                    .target = verb.target,
                    .target_about = verb.target_about,
                    .about = verb.about,
                    .flags = {},
                    .job_keys = (verb.flags & JobFlags) != 0,
                    .examples = verb.examples};
    CLI::App app;
    Arguments unused;
    Bound bound;
    AddFlags(app, verb, unused, bound);
    for (const CLI::Option* option : app.get_options()) {
      if (!option->nonpositional()) continue;
      FlagFacts& flag = facts.flags.emplace_back(FlagFacts{
          .name = "--" + option->get_lnames().front(), .value = "", .about = option->get_description(), .choices = {}});
      if (option->get_items_expected_max() > 0) flag.value = option->get_type_name();
      if (flag.name == "--log-format") flag.choices = {kFormats.begin(), kFormats.end()};
      if (flag.name == "--format") flag.choices = {kAnswerFormats.begin(), kAnswerFormats.end()};
      if (flag.name == "--input-format") flag.choices = {kInputFormats.begin(), kInputFormats.end()};
      if (flag.name == "--color") flag.choices = {kColors.begin(), kColors.end()};
    }
    described.push_back(std::move(facts));
  }
  return described;
}

plimsoll::TraceOptions TracedSteps(const Arguments& arguments) {
  constexpr plimsoll::TraceOptions kUsual = {.first = 2, .last = 4};  // the first one warms caches up
  if (arguments.trace_steps.empty()) return arguments.trace ? kUsual : plimsoll::TraceOptions{};
  const char *begin = arguments.trace_steps.data(), *end = begin + arguments.trace_steps.size();
  plimsoll::TraceOptions steps;
  auto [at, error] = std::from_chars(begin, end, steps.first);
  steps.last = steps.first;
  if (error == std::errc() && at < end && *at == '-') {
    const auto last = std::from_chars(at + 1, end, steps.last);
    at = last.ptr;
    error = last.ec;
  }
  const bool good = error == std::errc() && at == end && steps.first >= 1 && steps.last >= steps.first;
  return good ? steps : plimsoll::TraceOptions{};
}

bool AsksForJson(const std::vector<std::string>& typed) {
  const auto end = std::find(typed.begin(), typed.end(), "--");
  return std::find(typed.begin(), end, "--json") != end;
}

Result<Parsed> ParseArguments(const std::vector<std::string>& typed) {
  if (typed.empty()) return Status::Usage("what is to be done?", "plimsoll --help");
  const std::string& first = typed[0];
  if (first == "--version" || first == "-V") {
    return Parsed{.run = nullptr,
                  .arguments = {},
                  .text = AsksForJson(typed) ? fmt::format("{{\"version\": \"{}\"}}\n", plimsoll::kVersion)
                                             : fmt::format("plimsoll {}\n", plimsoll::kVersion)};
  }
  if (first == "--help" || first == "-h" || first == "help") {
    if (first != "help" || typed.size() == 1) return Parsed{.run = nullptr, .arguments = {}, .text = GeneralHelp()};
    const Verb* verb = FindVerb(typed[1]);
    if (verb == nullptr) return UnknownVerb(typed[1]);
    return ParseVerb(*verb, {"--help"});
  }
  const Verb* verb = FindVerb(first);
  if (verb == nullptr) return UnknownVerb(first);
  return ParseVerb(*verb, {typed.begin() + 1, typed.end()});
}
