// completion: the option tree as a script for a shell, or as a man page.
#include <fmt/format.h>
#include <plimsoll/version.h>

#include <array>
#include <iterator>
#include <string>

#include "output.h"
#include "verbs.h"

namespace {

using Verbs = std::vector<VerbFacts>;

// Flags and targets whose value is a file or a folder.
bool IsPath(std::string_view value) {
  for (const std::string_view path : {"FILE", "DIR", "MODEL", "JOB", "RUN", "RUN2", "FILE|SHARE"}) {
    if (value == path) return true;
  }
  return false;
}

// "train|fit" with another separator.
std::string NamesOf(const VerbFacts& verb, std::string_view separator) {
  std::string names(verb.name);
  for (const std::string_view alias : verb.aliases) names.append(separator).append(alias);
  return names;
}

// Text between single quotes of a shell.
std::string Quoted(std::string_view text, std::string_view escaped = "") {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      if (escaped.find(c) != std::string_view::npos) quoted += '\\';
      quoted += c;
    }
  }
  return quoted;
}

std::string ForBash(const Verbs& verbs) {
  std::string names, flags, words, values;
  for (const VerbFacts& verb : verbs) {
    names += (names.empty() ? "" : " ") + NamesOf(verb, " ");
    fmt::format_to(std::back_inserter(flags), "    {})\n      flags='", NamesOf(verb, " | "));
    for (const FlagFacts& flag : verb.flags) {
      fmt::format_to(std::back_inserter(flags), "{}{}", &flag == verb.flags.data() ? "" : " ", flag.name);
      const std::string pattern = fmt::format("    {})", flag.name);
      if (flag.value.empty() || values.find(pattern) != std::string::npos) continue;
      if (!flag.choices.empty()) {
        fmt::format_to(std::back_inserter(values), "{} choices='{}' ;;\n", pattern, fmt::join(flag.choices, " "));
      } else {
        fmt::format_to(std::back_inserter(values), "{} {} ;;\n", pattern, IsPath(flag.value) ? "files=1" : "return");
      }
    }
    fmt::format_to(std::back_inserter(flags), "'\n      {}\n      ;;\n",
                   verb.name == "completion" ? "words='bash zsh fish man'"
                   : IsPath(verb.target)     ? "target=1"
                                             : ":");
  }
  return fmt::format(
      "# bash completion of plimsoll\n"
      "_plimsoll() {{\n"
      "  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} flags='' words='' choices='' files='' "
      "target=''\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- \"$cur\")\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}} in\n{}  esac\n"
      "  case $prev in\n{}  esac\n"
      "  if [[ -n $choices ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$choices\" -- \"$cur\")\n"
      "  elif [[ -n $files ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
      "  elif [[ $cur == -* ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$cur\")\n"
      "  elif [[ -n $words ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
      "  elif [[ -n $target ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
      "  fi\n"
      "}}\n"
      "complete -o filenames -F _plimsoll plimsoll\n",
      names, flags, values);
}

std::string ForZsh(const Verbs& verbs) {
  std::string names, cases;
  auto out = std::back_inserter(cases);
  for (const VerbFacts& verb : verbs) {
    fmt::format_to(std::back_inserter(names), "    '{}:{}'\n", verb.name, Quoted(verb.about, ":"));
    fmt::format_to(out, "    {})\n      _arguments", NamesOf(verb, "|"));
    for (const FlagFacts& flag : verb.flags) {
      fmt::format_to(out, " \\\n        '{}[{}]", flag.name, Quoted(flag.about, "[]"));
      if (!flag.choices.empty()) {
        fmt::format_to(out, ":{}:({})", flag.value, fmt::join(flag.choices, " "));
      } else if (!flag.value.empty()) {
        fmt::format_to(out, ":{}:{}", flag.value, IsPath(flag.value) ? "_files" : "");
      }
      cases += "'";
    }
    if (!verb.target.empty()) {
      fmt::format_to(out, " \\\n        '1:{}:{}'", verb.target, verb.name == "completion" ? "(bash zsh fish man)" : "_files");
    }
    cases += "\n      ;;\n";
  }
  return fmt::format(
      "#compdef plimsoll\n"
      "_plimsoll() {{\n"
      "  local -a verbs\n"
      "  verbs=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe verb verbs\n"
      "    return\n"
      "  fi\n"
      "  local verb=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $verb in\n{}  esac\n"
      "}}\n"
      "if [[ $funcstack[1] == _plimsoll ]]; then _plimsoll \"$@\"; else compdef _plimsoll plimsoll; fi\n",
      names, cases);
}

std::string ForFish(const Verbs& verbs) {
  std::string script = "# fish completion of plimsoll\ncomplete -c plimsoll -f\n";
  auto out = std::back_inserter(script);
  for (const VerbFacts& verb : verbs) {
    fmt::format_to(out, "complete -c plimsoll -n __fish_use_subcommand -a {} -d '{}'\n", verb.name, Quoted(verb.about));
    const std::string seen = fmt::format("complete -c plimsoll -n '__fish_seen_subcommand_from {}'", NamesOf(verb, " "));
    if (IsPath(verb.target)) fmt::format_to(out, "{} -F\n", seen);
    if (verb.name == "completion") fmt::format_to(out, "{} -a 'bash zsh fish man'\n", seen);
    for (const FlagFacts& flag : verb.flags) {
      fmt::format_to(out, "{} -l {} -d '{}'", seen, flag.name.substr(2), Quoted(flag.about));
      if (!flag.choices.empty()) {
        fmt::format_to(out, " -x -a '{}'", fmt::join(flag.choices, " "));
      } else if (!flag.value.empty()) {
        script += IsPath(flag.value) ? " -r -F" : " -x";
      }
      script += "\n";
    }
  }
  return script;
}

// Text of a man page: a hyphen that is typed, no line that begins with a dot.
std::string Roff(std::string_view text) {
  std::string roff;
  for (const char c : text) {
    if (c == '\\') {
      roff += "\\e";
    } else if (c == '-') {
      roff += "\\-";
    } else if ((c == '.' || c == '\'') && roff.empty()) {
      roff += std::string("\\&") + c;
    } else {
      roff += c;
    }
  }
  return roff;
}

std::string ForMan(const Verbs& verbs) {
  std::string page = fmt::format(
      ".TH PLIMSOLL 1 2026-11-17 \"plimsoll {}\" \"User Commands\"\n"
      ".SH NAME\nplimsoll \\- train recurrent models inside a memory budget\n"
      ".SH SYNOPSIS\n.B plimsoll\n.I VERB\n.RI [ JOB ]\n.RI [ \\-\\-flag \" \" value ]\n.RI [ \\-\\-section.key=value ]\n"
      ".SH DESCRIPTION\nPlimsoll trains LSTM, GRU and simple RNN models on CPUs inside a number of\n"
      "bytes that you state. The number covers the whole process. Before the first\n"
      "step it works out where every byte goes; what cannot fit is refused at once,\n"
      "with the smallest budget that would do.\n.SH VERBS\n",
      Roff(plimsoll::kVersion));
  auto out = std::back_inserter(page);
  for (const VerbFacts& verb : verbs) {
    fmt::format_to(out, ".SS {}{}{}\n{}.\n", NamesOf(verb, ", "), verb.target.empty() ? "" : " ", verb.target,
                   Roff(verb.about));
    if (!verb.target.empty()) fmt::format_to(out, ".TP\n.I {}\n{}\n", verb.target, Roff(verb.target_about));
    for (const FlagFacts& flag : verb.flags) {
      fmt::format_to(out, ".TP\n");
      if (flag.value.empty()) {
        fmt::format_to(out, ".B {}\n", Roff(flag.name));
      } else {
        fmt::format_to(out, ".BI {} \" {}\"\n", Roff(flag.name), Roff(flag.value));
      }
      fmt::format_to(out, "{}\n", Roff(flag.about));
    }
    if (verb.job_keys) fmt::format_to(out, ".TP\n.BI \\-\\-section.key= VALUE\nEvery key of the job file is a flag, too.\n");
  }
  page += ".SH EXIT STATUS\n";
  constexpr std::array<std::pair<const char*, const char*>, 8> kCodes = {{
      {"0", "done"},
      {"1", "an internal error"},
      {"2", "usage or job file"},
      {"3", "data or model file unreadable or damaged"},
      {"4", "does not fit the budget"},
      {"5", "training diverged"},
      {"6", "a promise broken: a bug of ours"},
      {"7", "cannot write"},
  }};
  for (const auto& [code, meaning] : kCodes) fmt::format_to(out, ".TP\n.B {}\n{}\n", code, meaning);
  page += ".SH EXAMPLES\n.EX\n";
  for (const VerbFacts& verb : verbs) {
    for (const std::string_view example : verb.examples) fmt::format_to(out, "{}\n", Roff(example));
  }
  return page + ".EE\n";
}

}  // namespace

int RunCompletion(const Arguments& arguments) {
  const Verbs verbs = DescribeVerbs();
  const std::string& shell = arguments.target;
  std::string text;
  if (shell == "bash") text = ForBash(verbs);
  if (shell == "zsh") text = ForZsh(verbs);
  if (shell == "fish") text = ForFish(verbs);
  if (shell == "man") text = ForMan(verbs);
  if (text.empty()) {
    return Fail(arguments.json, plimsoll::Status::Usage(fmt::format("wanted bash, zsh, fish or man, got \"{}\"", shell),
                                                        "plimsoll completion bash"));
  }
  return arguments.json ? AnswerJson(Json{{"text", text}}) : Answer(text);
}
