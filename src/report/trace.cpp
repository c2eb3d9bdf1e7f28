#include "report/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/file.h"
#include "report/fixed_text.h"

namespace plimsoll {
namespace {

constexpr size_t kNameBytes = 80;
constexpr size_t kMostEventBytes = 800;  // a name of six bytes of JSON each, and the rest

struct PieceWords {
  const char* name;
  const char* first;  // what `first` counts; null: it is not told
};
constexpr std::array<PieceWords, kPieces> kWords = {{
    {"update", "update"},
    {"read", "group"},
    {"ask for the next batch", "samples"},
    {"gradients to zero", nullptr},
    {"advance", "block"},
    {"advance again", "block"},
    {"record", "block"},
    {"record again", "block"},
    {"keep", "slot"},
    {"restore", "slot"},
    {"reverse", "block"},
    {"loss", "block"},
    {"optimizer", nullptr},
    {"forward", "block"},
    {"replay", "block"},
    {"backward", "block"},
    {"backward in time", nullptr},
    {"weight gradient", nullptr},
}};

// The moment of a step (StepMoment) in which a piece uses the arena; -1: it holds pieces of several.
int MomentOf(Piece piece) {
  switch (piece) {
    case Piece::Read:
      return 0;
    case Piece::Advance:
    case Piece::AdvanceAgain:
    case Piece::Record:
    case Piece::RecordAgain:
      return 1;
    case Piece::LayerReplay:
      return 2;
    case Piece::Loss:
      return 3;
    case Piece::LayerBackward:
      return 4;
    case Piece::Optimizer:
      return 5;
    default:
      return -1;
  }
}

// A file that is written in order through a small buffer.
class Writer {
 public:
  explicit Writer(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (!file_.is_open()) status_ = WriteFailure(path, "create the file", errno);
  }
  FixedText<4096>& text() {
    if (text_.view().size() + kMostEventBytes > 4096) Flush();
    return text_;
  }
  Status Close() {
    Flush();
    if (!status_.ok()) ::unlink(path_.c_str());  // half a trace is none
    return status_;
  }

 private:
  void Flush() {
    std::string_view left = text_.view();
    while (!left.empty() && status_.ok()) {
      const ssize_t written = ::write(file_.number(), left.data(), left.size());
      if (written >= 0) {
        left.remove_prefix(static_cast<size_t>(written));
      } else if (errno != EINTR) {
        status_ = WriteFailure(path_, "write", errno);
      }
    }
    text_.Clear();
  }

  const std::string& path_;
  Descriptor file_;
  Status status_;
  FixedText<4096> text_;
};

double Microseconds(int64_t ns) { return static_cast<double>(ns) / 1e3; }

void AddSpan(FixedText<4096>& text, const TracedPiece& piece, size_t thread, std::span<const std::string> layers,
             int64_t origin) {
  const PieceWords& words = kWords[static_cast<size_t>(piece.piece)];
  text.Append(",\n{\"name\":\"");
  if (piece.layer >= 0 && static_cast<size_t>(piece.layer) < layers.size()) {
    AddJsonText(text, std::string_view(layers[static_cast<size_t>(piece.layer)]).substr(0, kNameBytes));
    text.Append(" ");
  }
  text.Add("{}\",\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f},\"args\":{{", words.name, thread,
           Microseconds(piece.begin_ns - origin), Microseconds(piece.end_ns - piece.begin_ns));
  if (words.first != nullptr) text.Add("\"{}\":{}", words.first, piece.first);
  if (words.first != nullptr && piece.count > 1) text.Add(",\"blocks\":{}", piece.count);
  text.Append("}}");
}

}  // namespace

ArenaUse ArenaUseOf(const Plan& plan) {
  ArenaUse use = {};
  for (const PlannedBuffer& buffer : plan.buffers) {
    for (int moment = std::max(buffer.first, 0); moment <= buffer.last && moment < static_cast<int>(kMoments); ++moment) {
      use[static_cast<size_t>(moment)][static_cast<size_t>(buffer.life)] += buffer.bytes;
    }
  }
  return use;
}

Status WriteTrace(const std::string& path, const Trace& trace) {
  Writer writer(path);
  int64_t origin = 0;
  for (const std::span<const TracedPiece> pieces : trace.pieces) {
    for (const TracedPiece& piece : pieces) {
      if (origin == 0 || piece.begin_ns < origin) origin = piece.begin_ns;
    }
  }
  writer.text().Add(
      "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"pieces_left_out\":{}}},\"traceEvents\":[\n"
      "{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"tid\":1,\"args\":{{\"name\":\"plimsoll\"}}}}",
      trace.dropped);
  for (size_t group = 0; group < trace.pieces.size(); ++group) {
    if (group > 0 && trace.pieces[group].empty()) continue;
    writer.text().Add(",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":{},\"args\":{{\"name\":\"{}\"}}}}",
                      group + 1, group == 0 ? "training" : "the row group beside");
    for (const TracedPiece& piece : trace.pieces[group]) AddSpan(writer.text(), piece, group + 1, trace.layers, origin);
  }
  int moment = -1;
  for (const TracedPiece& piece : trace.pieces[0]) {
    const int now = MomentOf(piece.piece);
    if (now < 0 || now == moment) continue;
    moment = now;
    FixedText<4096>& counter = writer.text();
    counter.Add(",\n{{\"name\":\"arena bytes in use\",\"ph\":\"C\",\"pid\":1,\"tid\":1,\"ts\":{:.3f},\"args\":{{",
                Microseconds(piece.begin_ns - origin));
    for (size_t life = 0; life < kLives; ++life) {
      counter.Add("{}\"{}\":{}", life == 0 ? "" : ",", LifeName(static_cast<Life>(life)),
                  trace.arena[static_cast<size_t>(moment)][life]);
    }
    counter.Append("}}");
  }
  writer.text().Append("\n]}\n");
  return writer.Close();
}

}  // namespace plimsoll
