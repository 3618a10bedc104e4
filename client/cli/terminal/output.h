// What the commands print: one JSON object a line for scripts, aligned text for people.
//
// stdout carries results only. Notes and progress go to stderr, progress only to a terminal.

#ifndef COPPICE_CLIENT_CLI_TERMINAL_OUTPUT_H_
#define COPPICE_CLIENT_CLI_TERMINAL_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "nlohmann/json.hpp"

namespace coppice::cli {

using Json = nlohmann::ordered_json;

// One line. Infinite and undefined numbers become null, bytes that are no UTF-8 a replacement mark.
std::string JsonLine(const Json& object);

// "name  value" lines; a nested object is one line of "name value" pairs. Numbers have three
// significant digits, what privacy costs has all of them.
std::string AsText(const Json& object);
// A table: one line a row under the names of the first row's members. If that is wider than a
// terminal of this width, a block of "name  value" lines per row instead: nothing is cut. 0: any
// width will do.
std::string AsTable(absl::Span<const Json> rows, size_t terminal = 0);

// Columns of the terminal (COLUMNS, or what the terminal says); 0 if `descriptor` is none.
size_t TerminalWidth(int descriptor);

// To stdout, in the form asked for.
void PrintObject(const Json& object, bool json);
void PrintRows(absl::Span<const Json> rows, bool json);

// The same, row after row, for results that are not held in memory: columns are as wide as the
// widest cell so far, decided a thousand rows at a time.
class RowPrinter {
 public:
  explicit RowPrinter(bool json) : json_(json) {}
  ~RowPrinter() { Flush(); }
  RowPrinter(const RowPrinter&) = delete;
  RowPrinter& operator=(const RowPrinter&) = delete;

  void Print(Json row);
  void Flush();

 private:
  const bool json_;
  bool has_header_ = false;
  std::vector<Json> waiting_;
  std::vector<size_t> widths_;
};

// To a file, whole or not at all, or to stdout if `path` is "-". AlreadyExists, saying what to do,
// if there is a file and not `force`.
absl::Status WriteResult(const std::string& path, absl::string_view bytes, bool force);
// The same, readable by its owner alone.
absl::Status WriteSecretResult(const std::string& path, absl::string_view bytes, bool force);

// Lines for people, to stdout.
void PrintText(absl::string_view lines);

// A line for people, on stderr. As everywhere here, what others named does not steer the terminal.
void Note(absl::string_view text);

// A line on stderr that is rewritten in place, and ended when this is. Nothing unless stderr is a
// terminal.
class UpdatingLine {
 public:
  UpdatingLine();
  ~UpdatingLine();
  UpdatingLine(const UpdatingLine&) = delete;
  UpdatingLine& operator=(const UpdatingLine&) = delete;

  void Show(absl::string_view text);

 private:
  bool visible_;
  bool shown_ = false;
};

// "reading FILE, 120 MB" as such a line, if the file is so large that reading it takes a while.
class ReadingNote {
 public:
  explicit ReadingNote(const std::string& path);

 private:
  UpdatingLine line_;
};

// "label 1200 of 45000" as such a line.
class Progress {
 public:
  Progress(std::string label, uint64_t total);

  void Show(uint64_t done);

 private:
  std::string label_;
  uint64_t total_;
  UpdatingLine line_;
};

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_TERMINAL_OUTPUT_H_
