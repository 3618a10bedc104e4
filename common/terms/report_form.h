// What one report of a study carries, decided once for the study: its form.
//
// A report has a payload, which a local mechanism randomized, and in some studies something in the
// clear beside it. Four forms are all there are, one file each:
//
//   leaf and label    leaf_and_label_form.cc    nothing in the clear, the payload about leaf and
//   label public features   public_features_form.cc   the public features' values; the payload
//   about the
//                                               leaves that these allow, and the label
//   label alone       label_form.cc             all features' values; the payload about the label
//   joined by an id   joined_form.cc            an id; the payload about the label
//
// What the label is (a class, or an end of a range of numbers) is the same in all: answer.h.
// How a curator counts reports of a form is in server/curator/form/study_form.h.

#ifndef COPPICE_COMMON_TERMS_REPORT_FORM_H_
#define COPPICE_COMMON_TERMS_REPORT_FORM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "common/model/tree.h"
#include "common/privacy/budget.h"
#include "common/privacy/private_random.h"
#include "common/schema/schema.h"
#include "common/terms/terms.h"
#include "common/terms/ticket.h"

namespace coppice {

// Guarantee  The whole report, payload and what is in the clear, is epsilon-LDP for the terms'
//            epsilon towards anybody who sees it. Neighbours differ by form, and each form's file
//            says which rows they are and why; what is in the clear is the same for all of them.
//            What is in the clear, and which mechanism and column the payload is of, follow from
//            terms, ticket and public values alone.
// Errors     Fill(): InvalidArgument where the form asks for an id and the row has none that can
//            be shown; the id alone decides that, before a private value is read. Unavailable if
//            the random source fails; nothing may be sent then.
// Threads    No state: safe to share. A form lives as long as the program.
class ReportForm {
 public:
  static const ReportForm& Of(const Terms& terms);
  // Of terms with this schema that ask for an id, or for none.
  static const ReportForm& For(const Schema& schema, bool shows_id = false);

  static const ReportForm& LeafAndLabel();
  static const ReportForm& PublicFeatures();
  static const ReportForm& LabelAlone();
  static const ReportForm& JoinedById();

  // Whether a report shows something in the clear. It can then be told from others, so neither a
  // relay's batch nor the crowd behind a model hides it.
  virtual bool ShowsSomething() const { return true; }
  // Whether that is an id, in place of features.
  virtual bool ShowsId() const { return false; }
  // Whether the payload is about the label alone. Reports are then worth keeping one by one, as
  // rows with a noisy label.
  virtual bool IsAboutLabelAlone() const { return false; }

  // The names of what is in the clear: of features, or of the id.
  virtual std::vector<std::string> NamesInClear(const Terms& terms) const;
  // The most bytes in the clear, whatever the row.
  virtual size_t MaxBytesInClear(const Terms& terms) const;

  // The most leaves of `tree` that a payload can be about.
  uint32_t PayloadLeaves(const Tree& tree) const {
    return IsAboutLabelAlone() ? 1 : tree.num_leaves();
  }
  // What payloads are about, for choosing a mechanism: the forest, or a single leaf.
  Forest PayloadForest(const Forest& forest) const {
    return IsAboutLabelAlone() ? Forest{Tree::SingleLeaf()} : forest;
  }
  // InvalidArgument unless reports of this form can be made and counted by the mechanism. Laplace
  // noise serves only the form that shows nothing, a mechanism with a window only numbers in forms
  // that are about the label alone.
  Status CheckMechanism(MechanismKind kind, const Budget& epsilon, const Schema& schema) const;

  // ---- The device

  // FailedPrecondition unless a device whose own rows have the schema `own` can answer.
  virtual Status CheckAgrees(const Schema& study, const Schema& own) const;
  // The part of a device's text that a report is made from. Never fails (Schema::EncodeTotally).
  virtual LabelledRow Encode(const Terms& terms, const TextRow& text) const;

  // What a ticket asks. All of it is public. The mechanism is that of MakeMechanism() for
  // PayloadLeaves().
  struct Question {
    const Terms& terms;
    const Tree& tree;
    const TicketDraw& draw;
    const LocalMechanism& mechanism;
  };
  struct Content {
    std::string& payload;
    std::string& in_clear;
  };
  // Reserves what Fill() writes, as far as it is known without a row.
  virtual void Reserve(const LocalMechanism& mechanism, Content content) const;
  // Draws the report of a row. A value that does not fit the schema counts as missing. Allocates
  // nothing after Reserve() if `row` has a value for each feature, but for what public values ask
  // for, and that before it looks at the rest.
  virtual Status Fill(const Question& question, LabelledRow row, PrivateRandom& random,
                      Content content) const = 0;

 protected:
  ~ReportForm() = default;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_TERMS_REPORT_FORM_H_
