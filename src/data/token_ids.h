// token_ids: the id of a token by a job's settings and its vocabulary.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/sample_reader.h"
#include "data/vocabulary.h"

namespace plimsoll {

// Negative: the token has none, and `problem` says why.
int64_t IdOf(std::string_view token, const TextSettings& settings, const Vocabulary& vocabulary, std::string& problem);

}  // namespace plimsoll
