// needs: what a layer, the optimizer or the batch wants to hold, before anything is placed.
//   in:    Declare() of every owner
//   out:   a list for the planner
//   never: addresses; those come from the plan (placement) and are only borrowed
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plimsoll/plan.h"

namespace plimsoll {

// The moments of a training step in their order. A buffer is in use from its first to its last moment and may share its
// place with buffers of other moments. Read to Backward repeat for every row group.
enum class StepMoment : int { Read, Forward, Replay, Head, Backward, Update, Save };

// What the bytes of a need are counted by.
enum class NeedUnit {
  Whole,        // once
  Row,          // rows of the largest row group
  RowStep,      // Tape: row-steps of the kept blocks; Data: row-steps of the group; else: row-steps of one block
  BlockAndRow,  // row-steps of one block, and the rows at its start in front of them
  BorderRow,    // rows active at the start of each kept block
  SliceRow,     // rows of a slice of the output layer
  SlotRow,      // rows of the largest row group, for every slot in memory
};

struct Need {
  int key = 0;  // the owner's own number for it
  std::string name;
  Life life = Life::Scratch;
  NeedUnit unit = NeedUnit::Whole;
  int64_t bytes = 0;  // each
  StepMoment first = StepMoment::Read;
  StepMoment last = StepMoment::Save;
  bool in_slots = false;  // State of forward: saved and brought back by Keep and Restore
};

class NeedList {
 public:
  // The moments follow from the life: Param and Moment whole run, Grad and Data until used up, State and Tape from
  // forward to backward. Scratch says its own.
  void Param(int key, std::string name, int64_t bytes) { Add(key, std::move(name), Life::Param, NeedUnit::Whole, bytes); }
  void Grad(int key, std::string name, int64_t bytes) { Add(key, std::move(name), Life::Grad, NeedUnit::Whole, bytes); }
  void Moment(int key, std::string name, int64_t bytes) { Add(key, std::move(name), Life::Moment, NeedUnit::Whole, bytes); }
  // Carried forward in time, and kept in slots.
  void State(int key, std::string name, int64_t bytes) {
    Add(key, std::move(name), Life::State, NeedUnit::Row, bytes);
    needs_.back().in_slots = true;
  }
  // Carried forward in time and read once, at the end of the first forward run: no slot keeps it.
  void Running(int key, std::string name, int64_t bytes) { Add(key, std::move(name), Life::State, NeedUnit::Row, bytes); }
  void Slots(int key, std::string name, int64_t bytes) { Add(key, std::move(name), Life::State, NeedUnit::SlotRow, bytes); }
  // Carried backward in time.
  void StateGradient(int key, std::string name, int64_t bytes) { Add(key, std::move(name), Life::State, NeedUnit::Row, bytes); }
  void Tape(int key, std::string name, NeedUnit unit, int64_t bytes) { Add(key, std::move(name), Life::Tape, unit, bytes); }
  void Data(int key, std::string name, NeedUnit unit, int64_t bytes) { Add(key, std::move(name), Life::Data, unit, bytes); }
  void Scratch(int key, std::string name, NeedUnit unit, int64_t bytes, StepMoment first, StepMoment last) {
    needs_.push_back({key, std::move(name), Life::Scratch, unit, bytes, first, last, false});
  }

  const std::vector<Need>& needs() const { return needs_; }

 private:
  void Add(int key, std::string name, Life life, NeedUnit unit, int64_t bytes);
  std::vector<Need> needs_;
};

// The worst row group that a job can meet and how much of it is kept at once: what the units are multiplied with.
struct Extent {
  int64_t rows = 0;
  int64_t group_row_steps = 0;
  int64_t block_row_steps = 0;
  int64_t kept_row_steps = 0;  // of the blocks whose Tape is in memory together
  int64_t kept_border_rows = 0;
  int64_t slice_rows = 0;
  int64_t slots = 0;  // in memory
};

int64_t NeedBytes(const Need& need, const Extent& extent);

}  // namespace plimsoll
