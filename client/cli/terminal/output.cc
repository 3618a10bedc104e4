#include "client/cli/terminal/output.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/printable.h"
#include "common/base/write_file.h"

namespace coppice::cli {
namespace {

std::string Cell(const Json& value);

std::string Pairs(const Json& object) {
  std::vector<std::string> pairs;
  for (const auto& [name, value] : object.items()) {
    pairs.push_back(absl::StrCat(Printable(name), " ", Cell(value)));
  }
  return pairs.empty() ? "none" : absl::StrJoin(pairs, ", ");
}

std::string Cell(const Json& value) {
  // What others named must not steer the terminal.
  if (value.is_string()) return Printable(value.get<std::string>());
  if (value.is_object()) return Pairs(value);
  if (value.is_null()) return "unknown";
  if (value.is_number_float()) return absl::StrFormat("%.6g", value.get<double>());
  if (!value.is_array()) return JsonLine(value);
  std::vector<std::string> cells;
  for (const Json& element : value) cells.push_back(Cell(element));
  return absl::StrJoin(cells, ", ");
}

using Cells = std::vector<std::string>;

// Columns padded to their widest cell, the last one left as it is. No narrower than `widths`, which
// they may widen.
std::string Align(absl::Span<const Cells> lines, std::vector<size_t>& widths) {
  for (const Cells& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const Cells& line : lines) {
    for (size_t i = 0; i + 1 < line.size(); ++i) {
      absl::StrAppend(&text, line[i], std::string(widths[i] - line[i].size() + 2, ' '));
    }
    absl::StrAppend(&text, line.empty() ? "" : line.back(), "\n");
  }
  return text;
}

std::string Align(absl::Span<const Cells> lines) {
  std::vector<size_t> widths;
  return Align(lines, widths);
}

Cells HeaderOf(const Json& row) {
  Cells header;
  for (const auto& member : row.items()) header.push_back(Printable(member.key()));
  return header;
}

Cells CellsOf(const Json& row) {
  Cells cells;
  for (const auto& member : row.items()) cells.push_back(Cell(member.value()));
  return cells;
}

absl::Status WithForceHint(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kAlreadyExists) return status;
  return absl::AlreadyExistsError(
      absl::StrCat(status.message(), "; name another file, or give --force to replace it"));
}

}  // namespace

std::string JsonLine(const Json& object) {
  const std::string line =
      object.dump(/*indent=*/-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  // JSON leaves DEL and U+0080 to U+009F as they are, and terminals obey them.
  std::string escaped;
  for (size_t i = 0; i < line.size(); ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    const auto next = static_cast<unsigned char>(i + 1 < line.size() ? line[i + 1] : 0);
    if (byte == 0x7F) {
      absl::StrAppend(&escaped, "\\u007f");
    } else if (byte == 0xC2 && next < 0xA0) {
      absl::StrAppendFormat(&escaped, "\\u%04x", next);
      ++i;
    } else {
      escaped.push_back(line[i]);
    }
  }
  return escaped;
}

std::string AsText(const Json& object) {
  std::vector<Cells> lines;
  for (const auto& [name, value] : object.items()) {
    lines.push_back({Printable(name), Cell(value)});
  }
  return Align(lines);
}

std::string AsTable(absl::Span<const Json> rows) {
  if (rows.empty()) return "none\n";
  std::vector<Cells> lines = {HeaderOf(rows[0])};
  for (const Json& row : rows) lines.push_back(CellsOf(row));
  return Align(lines);
}

void PrintObject(const Json& object, bool json) {
  std::cout << (json ? JsonLine(object) + "\n" : AsText(object)) << std::flush;
}

void PrintRows(absl::Span<const Json> rows, bool json) {
  if (!json) {
    std::cout << AsTable(rows) << std::flush;
    return;
  }
  for (const Json& row : rows) std::cout << JsonLine(row) << '\n';
  std::cout << std::flush;
}

void RowPrinter::Print(Json row) {
  constexpr size_t kMaxWaiting = 1000;
  waiting_.push_back(std::move(row));
  if (waiting_.size() == kMaxWaiting) Flush();
}

void RowPrinter::Flush() {
  if (waiting_.empty()) return;
  if (json_) {
    PrintRows(waiting_, json_);
  } else {
    std::vector<Cells> lines;
    if (!has_header_) lines.push_back(HeaderOf(waiting_[0]));
    for (const Json& row : waiting_) lines.push_back(CellsOf(row));
    std::cout << Align(lines, widths_) << std::flush;
  }
  has_header_ = true;
  waiting_.clear();
}

absl::Status WriteResult(const std::string& path, absl::string_view bytes, bool force) {
  return WithForceHint(WriteFileAtomically(path, bytes, {.replace = force}));
}

absl::Status WriteSecretResult(const std::string& path, absl::string_view bytes, bool force) {
  return WithForceHint(
      WriteFileAtomically(path, bytes, {.replace = force, .mode = kSecretFileMode}));
}

void PrintText(absl::string_view lines) {
  std::vector<std::string> printable;
  for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
    printable.push_back(Printable(line));
  }
  std::cout << absl::StrJoin(printable, "\n") << std::flush;
}

void Note(absl::string_view text) { std::cerr << Printable(text) << std::endl; }

UpdatingLine::UpdatingLine() : visible_(isatty(STDERR_FILENO) == 1) {}

UpdatingLine::~UpdatingLine() {
  if (shown_) std::cerr << std::endl;
}

void UpdatingLine::Show(absl::string_view text) {
  if (!visible_) return;
  constexpr absl::string_view kClearToEnd = "\033[K";
  std::cerr << '\r' << Printable(text) << kClearToEnd << std::flush;
  shown_ = true;
}

Progress::Progress(std::string label, uint64_t total) : label_(std::move(label)), total_(total) {}

void Progress::Show(uint64_t done) { line_.Show(absl::StrCat(label_, " ", done, " of ", total_)); }

}  // namespace coppice::cli
