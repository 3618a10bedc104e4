#include "client/cli/terminal/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/base/write_file.h"
#include "common/command_line/command_line.h"

namespace coppice::cli {
namespace {

std::string Cell(std::string_view name, const Json& value);

std::string Pairs(const Json& object) {
  std::vector<std::string> pairs;
  for (const auto& [name, value] : object.items()) {
    pairs.push_back(StrCat(Printable(name), " ", Cell(name, value)));
  }
  return pairs.empty() ? "none" : StrJoin(pairs, ", ");
}

// Costs in privacy are never rounded.
bool IsPrivacyCost(std::string_view name) {
  const std::string_view kCosts[] = {"epsilon", "delta",    "rho",           "most_epsilon",
                                     "each",    "readers_", "relay_epsilon", "relay_delta"};
  return std::any_of(std::begin(kCosts), std::end(kCosts),
                     [name](std::string_view cost) { return StartsWith(name, cost); });
}

// Formats with three significant digits, and all digits before the point.
std::string NumberText(std::string_view name, double number) {
  if (IsPrivacyCost(name)) return absl::StrFormat("%.15g", number);
  const bool is_large = std::abs(number) >= 1000 && std::abs(number) < 1e15;
  return is_large ? absl::StrFormat("%.0f", number) : absl::StrFormat("%.3g", number);
}

std::string Cell(std::string_view name, const Json& value) {
  // Foreign text must not control the terminal.
  if (value.is_string()) return Printable(value.get<std::string>());
  if (value.is_object()) return Pairs(value);
  if (value.is_null()) return "unknown";
  if (value.is_number_float()) return NumberText(name, value.get<double>());
  if (!value.is_array()) return JsonLine(value);
  std::vector<std::string> cells;
  for (const Json& element : value) cells.push_back(Cell(name, element));
  return cells.empty() ? "none" : StrJoin(cells, ", ");
}

using Cells = std::vector<std::string>;

constexpr size_t kMaxWaiting = 1000;  // rows that a RowPrinter holds

// Width in characters, each taking one terminal column.
size_t Width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0u) != 0x80u;
  }));
}

// Pads columns to their widest cell, except the last one. They are at least `widths` wide, which is
// updated.
std::string Align(absl::Span<const Cells> lines, std::vector<size_t>& widths) {
  for (const Cells& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], Width(line[i]));
  }
  std::string text;
  for (const Cells& line : lines) {
    for (size_t i = 0; i + 1 < line.size(); ++i) {
      StrAppend(&text, line[i], std::string(widths[i] - Width(line[i]) + 2, ' '));
    }
    StrAppend(&text, line.empty() ? "" : line.back(), "\n");
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
  for (const auto& member : row.items()) cells.push_back(Cell(member.key(), member.value()));
  return cells;
}

// Whether lines with these columns are wider than the terminal, which would break them.
bool IsTooWide(absl::Span<const size_t> widths, size_t terminal) {
  size_t width = 0;
  for (const size_t column : widths) width += column + 2;
  return terminal > 0 && width > terminal + 2;
}

// A row as lines of a name and a value, without empty values.
std::string AsBlock(const Json& row) {
  Json there = Json::object();
  for (const auto& [name, value] : row.items()) {
    if (value != "") there[name] = value;
  }
  return AsText(there);
}

std::string AsBlocks(absl::Span<const Json> rows) {
  std::vector<std::string> blocks;
  for (const Json& row : rows) blocks.push_back(AsBlock(row));
  return StrJoin(blocks, "\n");
}

// Makes the first line of a table bold on a terminal.
std::string WithBoldHeader(const std::string& table) {
  if (!UsesColor(STDOUT_FILENO)) return table;
  const size_t end = table.find('\n');
  return StrCat("\033[1m", table.substr(0, end), "\033[0m", table.substr(end));
}

// "-" is stdout, for programs that read on from there.
bool IsStdout(const std::string& path) { return path == "-"; }

Status WriteToStdout(std::string_view bytes) {
  std::cout << bytes << std::flush;
  return std::cout.good() ? OkStatus() : UnavailableError("cannot write to stdout");
}

Status WithForceHint(const Status& status) {
  if (status.code() != StatusCode::kAlreadyExists) return status;
  return AlreadyExistsError(
      StrCat(status.message(), "; name another file, or give --force to replace it"));
}

// JSON's escape of a character; it has two for one above U+FFFF.
void AppendEscape(char32_t code, std::string& out) {
  const auto append = [&out](uint32_t unit) { absl::StrAppendFormat(&out, "\\u%04x", unit); };
  if (code <= 0xFFFF) return append(code);
  append(0xD800 + ((code - 0x10000) >> 10));
  append(0xDC00 + ((code - 0x10000) & 0x3FF));
}

}  // namespace

std::string JsonLine(const Json& object) {
  const std::string line =
      object.dump(/*indent=*/-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  // JSON leaves most invisible characters unchanged, and terminals interpret them.
  std::string escaped;
  for (std::string_view rest = line; !rest.empty();) {
    const Character first = FirstCharacter(rest);
    if (first.is_visible) {
      StrAppend(&escaped, rest.substr(0, first.bytes));
    } else {
      AppendEscape(first.code, escaped);
    }
    rest.remove_prefix(first.bytes);
  }
  return escaped;
}

std::string AsText(const Json& object) {
  std::vector<Cells> lines;
  for (const auto& [name, value] : object.items()) {
    lines.push_back({Printable(name), Cell(name, value)});
  }
  return Align(lines);
}

std::string AsTable(absl::Span<const Json> rows, size_t terminal) {
  if (rows.empty()) return "none\n";
  std::vector<Cells> lines = {HeaderOf(rows[0])};
  for (const Json& row : rows) lines.push_back(CellsOf(row));
  std::vector<size_t> widths;
  const std::string table = Align(lines, widths);
  return IsTooWide(widths, terminal) ? AsBlocks(rows) : WithBoldHeader(table);
}

size_t TerminalWidth(int descriptor) {
  if (isatty(descriptor) != 1) return 0;
  const char* columns = std::getenv("COLUMNS");
  size_t width = 0;
  if (columns != nullptr && SimpleAtoi(columns, &width) && width > 0) return width;
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void PrintObject(const Json& object, bool json) {
  std::cout << (json ? JsonLine(object) + "\n" : AsText(object)) << std::flush;
}

void PrintRows(absl::Span<const Json> rows, bool json) {
  if (!json) {
    std::cout << AsTable(rows, TerminalWidth(STDOUT_FILENO)) << std::flush;
    return;
  }
  for (const Json& row : rows) std::cout << JsonLine(row) << '\n';
  std::cout << std::flush;
}

void RowPrinter::Print(Json row) {
  waiting_.push_back(std::move(row));
  if (waiting_.size() == kMaxWaiting) Flush();
}

void RowPrinter::Flush() {
  if (waiting_.empty()) return;
  if (json_) {
    PrintRows(waiting_, json_);
  } else if (!has_header_ && waiting_.size() < kMaxWaiting) {
    PrintRows(waiting_, /*json=*/false);  // all rows are here
  } else {
    std::vector<Cells> lines;
    if (!has_header_) lines.push_back(HeaderOf(waiting_[0]));
    for (const Json& row : waiting_) lines.push_back(CellsOf(row));
    std::cout << Align(lines, widths_) << std::flush;
  }
  has_header_ = true;
  waiting_.clear();
}

Status WriteResult(const std::string& path, std::string_view bytes, bool force) {
  if (IsStdout(path)) return WriteToStdout(bytes);
  return WithForceHint(WriteFileAtomically(path, bytes, {.replace = force}));
}

Status WriteSecretResult(const std::string& path, std::string_view bytes, bool force) {
  if (IsStdout(path)) return WriteToStdout(bytes);
  return WithForceHint(
      WriteFileAtomically(path, bytes, {.replace = force, .mode = kSecretFileMode}));
}

void PrintText(std::string_view lines) {
  std::vector<std::string> printable;
  for (const std::string_view line : StrSplit(lines, '\n')) {
    printable.push_back(Printable(line));
  }
  std::cout << StrJoin(printable, "\n") << std::flush;
}

void Note(std::string_view text) { std::cerr << Printable(text) << std::endl; }

UpdatingLine::UpdatingLine() : visible_(isatty(STDERR_FILENO) == 1) {}

UpdatingLine::~UpdatingLine() {
  if (shown_) std::cerr << std::endl;
}

void UpdatingLine::Show(std::string_view text) {
  if (!visible_) return;
  constexpr std::string_view kClearToEnd = "\033[K";
  const size_t width = TerminalWidth(STDERR_FILENO);
  std::string line = Printable(text);
  // A line that wraps cannot be rewritten.
  while (width > 0 && Width(line) >= width) line.pop_back();
  std::cerr << '\r' << line << kClearToEnd << std::flush;
  shown_ = true;
}

ReadingNote::ReadingNote(const std::string& path) {
  constexpr uintmax_t kLargeBytes = 16 << 20;
  std::error_code unknown;
  const uintmax_t bytes = std::filesystem::file_size(path, unknown);
  if (unknown || bytes < kLargeBytes) return;
  line_.Show(StrCat("reading ", path, ", ", bytes >> 20, " MB"));
}

Progress::Progress(std::string label, uint64_t total) : label_(std::move(label)), total_(total) {}

void Progress::Show(uint64_t done) {
  line_.Show(total_ == 0 ? StrCat(label_, " ", done) : StrCat(label_, " ", done, " of ", total_));
}

}  // namespace coppice::cli
