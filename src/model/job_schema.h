// job_schema: every key of a job: its name, type, range, place in the Job and a line about it.
//   in:    nothing; these are tables
//   out:   fields that read a value into a Job and write it back; the same for TOML, JSON and overrides
//   never: opens a file or walks a tree (job_reader), or prints (job_writer)
// A new key is one line in job_schema.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/job_tree.h"
#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

// Where a value stands, for messages and for paths.
struct KeyPlace {
  std::string file;  // empty: an override
  int line = 0;
  std::string key;     // "train.epochs", "model.layers[1].units"
  std::string folder;  // paths are relative to it; empty: the working directory

  std::string Prefix() const;  // "job.toml:7: ", or nothing for an override
};

template <typename Owner>
struct Field {
  std::string key;                        // "epochs"; with its section in JobFields()
  std::string about;                      // one line
  std::vector<std::string_view> aliases;  // the name in other dialects
  std::function<Status(Owner&, const JobValue&, const KeyPlace&)> set;
  std::function<std::optional<JobValue>(const Owner&)> get;  // nothing: unset, and left out when written
};

// Keys outside the model: "task", "init_from", "data.train", "train.epochs", ...
const std::vector<Field<Job>>& JobFields();

// Keys of an entry of [[outputs]].
const std::vector<Field<OutputOptions>>& OutputFields();

struct LayerType {
  std::string_view name;
  std::vector<std::string_view> aliases;
  LayerKind start;                          // with the defaults of the type
  std::vector<Field<LayerOptions>> fields;  // `name` first
};
// The first entry for a kind is the one that is written.
const std::vector<LayerType>& LayerTypes();

// What to write instead of a name that other systems have and Plimsoll does not; empty: nothing is known.
// `scope` is a section ("train"), a layer type ("LSTM"), or "model.layers" for the name of a type; capitals do not count in
// `name`.
std::string_view HintForForeignName(std::string_view scope, std::string_view name);

// Capitals do not count in names of types and in choices.
bool SameName(std::string_view a, std::string_view b);

}  // namespace plimsoll
