// Exit codes and usage errors for programs that use CLI11 without command_line.h.

#ifndef COPPICE_COMMON_COMMAND_LINE_COMPLAIN_H_
#define COPPICE_COMMON_COMMAND_LINE_COMPLAIN_H_

#include <string>
#include <string_view>

namespace coppice {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

// Prints what is wrong with a line, and where its help is. Returns kExitUsage. `program` is what
// was called: "coppiced token".
int Complain(const std::string& program, std::string_view problem);

}  // namespace coppice

#endif  // COPPICE_COMMON_COMMAND_LINE_COMPLAIN_H_
