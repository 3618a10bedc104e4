// The curator's state as metrics: reports by study and outcome, budgets by dataset, jobs.
//
// At most kMaxNamed studies and as many datasets have a line each. Other studies are added up as
// "_other", which cannot be an id; other datasets are left out, and the page says how many there
// are of both. Reports to unknown studies are added up as "_unknown": their names come from the
// senders and are not shown.
//
// Guarantee  No owner takes the lines of another: they are given out one to each owner in turn, to
//            each owner's studies with reports and datasets with charges first, then by id.
//            Numbers of reports reveal nothing of a row. Numbers of a dataset's rows do, and the
//            time a job ends follows from them: neither is shown, except the day. Names are those
//            that operators and owners chose.

#ifndef COPPICE_SERVER_SERVING_METRICS_CURATOR_READINGS_H_
#define COPPICE_SERVER_SERVING_METRICS_CURATOR_READINGS_H_

#include <cstdint>
#include <functional>

#include "server/curator/studies/study_calls.h"
#include "server/datasets/datasets.h"
#include "server/datasets/jobs.h"
#include "server/process/readings.h"

namespace coppice::metrics {

// All of them must outlive `readings`.
void AddStudyReadings(const curator::StudyCalls& studies, Readings& readings);
void AddDatasetReadings(const central::Datasets& datasets, Readings& readings);
// `clock` returns seconds since 1970.
void AddJobReadings(const central::Jobs& jobs, std::function<int64_t()> clock, Readings& readings);

}  // namespace coppice::metrics

#endif  // COPPICE_SERVER_SERVING_METRICS_CURATOR_READINGS_H_
