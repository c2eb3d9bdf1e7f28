// model_folder: a trained model on disk: model.safetensors (canonical tensors), job.toml (the complete job) and, of a model of
//   text, what its ids mean: vocabulary.txt, labels.txt, scale.txt, features.txt.
#pragma once

#include <string>

#include "plimsoll/options.h"
#include "plimsoll/status.h"
#include "train/setup.h"

namespace plimsoll {

// `path` or `path`/model, whichever holds a model.
Result<std::string> FindModelFolder(const std::string& path);
Result<Job> ReadModelJob(const std::string& folder);

// Makes the folder, or replaces its files where a run that goes on had one.
Status WriteModel(const std::string& folder, const Setup& setup, const Engine& engine);
// Every tensor of the network must be there with its shape, and nothing else.
Status ReadWeights(const std::string& folder, const Setup& setup, const Engine& engine);

}  // namespace plimsoll
