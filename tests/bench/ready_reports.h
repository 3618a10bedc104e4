// Reports that are sealed and ready to be sent to a running coppiced, so that a benchmark times
// their delivery alone.
//
// Errors     ends the program with a line on stderr.

#ifndef COPPICE_TESTS_BENCH_READY_REPORTS_H_
#define COPPICE_TESTS_BENCH_READY_REPORTS_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/sealed_reports.h"

namespace coppice {

// The file's bytes.
std::string ReadFileOrExit(const std::string& path);

// A channel that shares its connection with no other of this process.
std::shared_ptr<grpc::Channel> ConnectAlone(const std::string& server, const std::string& ca_file);

// Fresh reports, about a row in the middle of every feature, in messages of `batch` reports. The
// terms are fetched once, tickets a thousand at a time.
std::vector<testing::SealedReportsCall> MakeReadyReports(const std::string& server,
                                                         const std::string& ca_file,
                                                         const std::string& study, size_t reports,
                                                         size_t batch = 1);

// The curator's direct key.
DirectKey FetchDirectKey(const std::string& server, const std::string& ca_file);

double Median(std::vector<double> values);

}  // namespace coppice

#endif  // COPPICE_TESTS_BENCH_READY_REPORTS_H_
