/* A Coppice device in C: one private row, one randomized report per study.
 *
 * The library moves no bytes and does not wait. A *visit* to a curator, or to the relay that stands
 * before it, asks for calls one by one: the caller carries the request there, over gRPC or however
 * it reaches it, and brings the response back. In the response the library checks everything before
 * it uses anything, and only when nothing can decline any more it calls for the row. docs/device.md
 * leads through it; a program that is ready to build is beside it.
 *
 * Guarantee
 *   At most one report per subject and study leaves the library, epsilon-LDP for the study's
 *   epsilon: neighbours are any value of the row for any other. Whether there is a report depends
 *   on the policy, the offer, the journal, the disk and the memory, and never on the row: what
 *   randomizing takes is set aside before the row is asked for. A report is in the journal, on
 *   disk, before the caller can see it, and the same bytes are sent at every try. Through a relay
 *   it does not depend on the ticket either, and the report is sealed for the curator.
 *
 * Errors
 *   Every function that can fail returns a COPPICE_ code, and says in words what is wrong and what
 *   to do in `error`, which may be NULL. A null handle or a null pointer where one is needed is
 *   COPPICE_INVALID_ARGUMENT. After an error nothing has changed unless the function says so. No
 *   exception and no signal crosses this interface.
 *
 * Threads
 *   No global state. One thread at a time may use a handle; different handles need no lock, but one
 *   process opens a journal once. A child of fork() may use no handle of its parent.
 *
 * Units
 *   Epsilon in billionths ("nanos"); times in seconds since 1970, UTC; texts are UTF-8 and end with
 *   a zero byte; sizes of memory are size_t.
 *
 * A struct that begins with struct_size may grow at its end in later versions: set it to sizeof the
 * struct, as the _init functions do. Symbols have the version COPPICE_DEVICE_1, and those that came
 * with relays COPPICE_DEVICE_2.
 */

#ifndef COPPICE_DEVICE_H_
#define COPPICE_DEVICE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COPPICE_API __attribute__((visibility("default")))

/* Codes, with the numbers of gRPC's. */
enum {
  COPPICE_OK = 0,
  COPPICE_INVALID_ARGUMENT = 3,    /* the caller's mistake */
  COPPICE_NOT_FOUND = 5,           /* no such study in the journal */
  COPPICE_ALREADY_EXISTS = 6,      /* answered before */
  COPPICE_RESOURCE_EXHAUSTED = 8,  /* no room in the journal, on the disk or in memory */
  COPPICE_FAILED_PRECONDITION = 9, /* declined: by owner, policy, or for want of trust */
  COPPICE_INTERNAL = 13,           /* a defect of this library */
  COPPICE_UNAVAILABLE = 14, /* try again: the journal's file, the random source, the transport */
  COPPICE_DATA_LOSS = 15    /* bytes that are not what they claim to be */
};

#define COPPICE_ERROR_TEXT_BYTES 320
typedef struct {
  int32_t code;
  char text[COPPICE_ERROR_TEXT_BYTES]; /* one line, cut if it is longer; empty with COPPICE_OK */
} coppice_error;

/* The version of the library that is linked, "0.2.0". */
COPPICE_API const char* coppice_device_version(void);

/* ---- The device ------------------------------------------------------------------------------ */

typedef struct coppice_device coppice_device;

/* A column of the device's own rows, as its owner declares it. */
typedef struct {
  const char* name;
  int32_t kind; /* COPPICE_COLUMN_NUMBER, _CATEGORY, _CLASS or _TARGET */
  double min;   /* of numbers */
  double max;
  int32_t is_whole;          /* 1: a number that has no fraction, and neither have its bounds */
  const char* unit;          /* of numbers, "mmHg"; NULL: not said */
  const char* const* values; /* of categories and classes */
  size_t num_values;
} coppice_own_column;

/* A journal that the caller keeps, for places without files, such as a page in a browser. */
typedef struct {
  size_t struct_size;
  const uint8_t* bytes; /* all that it kept so far, in its order; read while the device is opened */
  size_t size;          /* 0: a new journal */
  /* Keeps `bytes`: behind all others, or where `replaces` is 1 in their place, and then all of them
   * or none. Returns COPPICE_OK, or a code, and then nothing was kept. It must be durable before
   * anything that the library says afterwards has an effect: a caller that cannot wait for the disk
   * in here carries no call, and shows no outcome, until it is, and closes the device if it fails.
   * Two devices over one journal must not both succeed; the caller refuses the later one. It may
   * use no function of this library. */
  int32_t (*write)(void* context, int32_t replaces, const uint8_t* bytes, size_t size);
  void* context;
} coppice_journal_keeper;

typedef struct {
  size_t struct_size;
  const char* journal_path; /* a file that only this device uses; made if there is none */
  const char* subject;      /* whose row it is; "this device" unless a gateway speaks for many */

  /* What the owner agrees to, before any row is read. */
  uint64_t max_epsilon_nanos;       /* per report; a study that asks for more is declined */
  uint64_t max_total_epsilon_nanos; /* of all reports together; 0: no limit */
  uint64_t max_waiting;             /* reports that wait for delivery; 0: no limit */
  uint64_t max_journal_bytes;       /* of the file; 0: no limit */
  uint64_t min_reports;             /* fewest that a model may be built from */
  /* Names of features that may be sent in the clear where a study marks them as public; NULL: none.
   * An id is none of them: see join_ids. */
  const char* const* shows;
  size_t num_shows;

  /* The curator's Ed25519 public key, 32 bytes (coppice_key_parse()). NULL: the first key that is
   * seen is trusted from then on, unless require_pin is set. */
  const uint8_t* curator_key;
  uint8_t require_pin;

  /* Seconds since 1970, 0 if the device does not know; NULL: time(). */
  int64_t (*clock)(void* context);
  void* clock_context;

  /* What the owner agrees to of answers through a relay, which take curator_key besides. The
   * relay's Ed25519 public key, 32 bytes, from a source that the curator does not control. NULL:
   * this device visits no relay. */
  const uint8_t* relay_key;
  uint64_t min_batch; /* fewest reports among which the curator finds the answer */
  /* The longest offer that there is room for, from a curator too, at most 16 MiB. Reading one takes
   * up to 64 times as much memory, which through a relay is set aside before a ticket is taken. */
  uint32_t max_offer_bytes;
  /* A sealed answer is sent at a random time, at most this long after its ticket came; 0: at once.
   */
  uint32_t max_send_delay_seconds;
  /* Per report that goes to the curator itself: above it only through a relay, and never above
   * max_epsilon_nanos. 0: no cap of its own, max_epsilon_nanos alone counts. */
  uint64_t max_epsilon_direct_nanos;

  /* Names of ids by which studies may join; NULL: none. A report shows what the row has in that
   * column as it is, so never name a feature here: a name that is in `shows` too is refused. */
  const char* const* join_ids;
  size_t num_join_ids;
  /* What the device's own rows look like, the label among the columns; NULL: nothing is declared.
   * A study that does not agree with it is declined, and so is one that is joined by one of these
   * columns. */
  const coppice_own_column* own_columns;
  size_t num_own_columns;

  /* In the place of journal_path, which is NULL then. */
  const coppice_journal_keeper* keeper;
} coppice_device_options;

/* Sensible caps: epsilon 4 per report and 8 in all, 100 reports waiting, a journal of 256 kB, the
 * subject "this device", a pinned key required; offers of at most 1 MiB; through a relay
 * batches of at least 1,000 reports, a delay of at most 60 seconds. What stays to be set is
 * journal_path, curator_key and, to visit a relay, relay_key. `size` is sizeof the struct. In C the
 * macro says it; a program that loads the library by name calls
 * coppice_device_options_init_sized(), since the other one knows the struct as it was before there
 * were relays. */
COPPICE_API void coppice_device_options_init_sized(coppice_device_options* options, size_t size);
COPPICE_API void coppice_device_options_init(coppice_device_options* options);
#define coppice_device_options_init(options) \
  coppice_device_options_init_sized((options), sizeof(coppice_device_options))

/* A curator's or a relay's key as people hand it around, "ed25519:..." or PEM, with white space
 * around it. Errors: INVALID_ARGUMENT. */
COPPICE_API int32_t coppice_key_parse(const char* text, uint8_t key[32], coppice_error* error);

/* Opens the journal, which is locked until the device is closed. Copies the options.
 * Errors: INVALID_ARGUMENT (options); UNAVAILABLE (the file cannot be opened, or another process
 * has it); DATA_LOSS (it is corrupt); FAILED_PRECONDITION (a newer version wrote it). */
COPPICE_API int32_t coppice_device_open(const coppice_device_options* options,
                                        coppice_device** device, coppice_error* error);
/* NULL is allowed. Close its visits first. */
COPPICE_API void coppice_device_close(coppice_device* device);

/* The owner's word, 1 or 0. It is in the journal, so it outlives the process. An owner who opted
 * out is not asked again, and nothing that waits is sent: visits are refused, and one that is open
 * ends at its next coppice_visit_next(). Errors: those of writing the journal. */
COPPICE_API int32_t coppice_device_opt_out(coppice_device* device, int32_t opted_out,
                                           coppice_error* error);

typedef struct {
  size_t struct_size;
  uint64_t answers;             /* of this subject */
  uint64_t waiting;             /* of all subjects, for delivery */
  uint64_t spent_epsilon_nanos; /* by this subject's answers together */
  uint64_t left_epsilon_nanos;  /* of max_total_epsilon_nanos; UINT64_MAX without that limit */
  uint64_t journal_bytes;
  int32_t opted_out;
} coppice_device_state;

/* Errors: FAILED_PRECONDITION in the child of a fork(). */
COPPICE_API int32_t coppice_device_get_state(coppice_device* device, coppice_device_state* state,
                                             coppice_error* error);

typedef struct {
  size_t struct_size;
  const char* study; /* as long as the callback runs */
  uint64_t epsilon_nanos;
  int32_t delivered;      /* counted, refused for good, given up, or past the end of its deal */
  int32_t forgotten;      /* the same: what was sent of a delivered answer is not kept */
  const uint8_t* payload; /* what will be sent, randomized; NULL if delivered */
  size_t payload_size;
  int32_t
      sealed; /* through a relay: the payload is sealed, so that the curator alone can read it */
  /* To whom: the key that trust in the curator began with, 32 bytes; NULL if the journal does not
   * know it. */
  const uint8_t* curator_key;
} coppice_answer;

/* Calls `answer` for each answer of this subject, oldest first: for showing the owner what was
 * spent on what. */
COPPICE_API int32_t coppice_device_history(coppice_device* device,
                                           void (*answer)(void* context, const coppice_answer*),
                                           void* context, coppice_error* error);

/* Ends the waiting of the answer to a study, for curators that are gone. What it cost stays spent.
 * Errors: NOT_FOUND. */
COPPICE_API int32_t coppice_device_give_up(coppice_device* device, const char* study,
                                           coppice_error* error);

/* ---- What a row looks like ------------------------------------------------------------------- */

typedef struct coppice_schema coppice_schema;

enum {
  COPPICE_COLUMN_NUMBER = 1,
  COPPICE_COLUMN_CATEGORY = 2,
  COPPICE_COLUMN_CLASS = 3,  /* the label: one of `num_values` classes */
  COPPICE_COLUMN_TARGET = 4, /* the label: a number from min to max */
  COPPICE_COLUMN_ID = 5      /* what a study that is joined by an id shows of the row */
};

typedef struct {
  const char* name;
  int32_t kind;
  int32_t is_public; /* sent in the clear */
  double min;        /* of numbers */
  double max;
  uint32_t num_values; /* of categories and classes */
} coppice_column;

/* The columns that are asked for, the label last: the features, or in their place the id that the
 * study is joined by. What is returned lives as long as the schema. */
COPPICE_API uint32_t coppice_schema_num_columns(const coppice_schema* schema);
/* Errors: INVALID_ARGUMENT: no such column. */
COPPICE_API int32_t coppice_schema_column(const coppice_schema* schema, uint32_t column,
                                          coppice_column* out);
/* The name of a category or class; NULL if there is none of this number. */
COPPICE_API const char* coppice_schema_value(const coppice_schema* schema, uint32_t column,
                                             uint32_t value);

typedef struct coppice_row coppice_row;

/* Sets a column by its name; a column that is not asked for is passed over, one that is never set
 * is missing. A text that does not fit is as good as missing, or "other" for a category; numbers
 * are clamped to their bounds, and rounded where the schema says so. So no value is an error, and
 * no memory is taken.
 * A number for a category or class is as good as a text that does not fit. */
COPPICE_API void coppice_row_set_text(coppice_row* row, const char* column, const char* text,
                                      size_t text_size);
COPPICE_API void coppice_row_set_number(coppice_row* row, const char* column, double number);

/* ---- A visit to a curator or a relay --------------------------------------------------------- */

typedef struct coppice_terms coppice_terms;

/* What a study asks; valid while the callback runs that it is given to. */
COPPICE_API const char* coppice_terms_study(const coppice_terms* terms);
COPPICE_API uint64_t coppice_terms_epsilon_nanos(const coppice_terms* terms);
COPPICE_API const char* coppice_terms_mechanism(
    const coppice_terms* terms); /* "subset_selection" */
COPPICE_API const coppice_schema* coppice_terms_schema(const coppice_terms* terms);

typedef struct {
  size_t struct_size;
  /* Where the curator is reached, HOST:PORT; the journal knows it by that and its key. NULL in a
   * visit to a relay. */
  const char* curator;
  const char* study; /* its id; NULL: deliver what waits, and ask for nothing */
  /* 32 bytes where the study asks for one; else NULL. Never in a visit to a relay. */
  const uint8_t* submission_token;

  /* Asked once, when the terms have passed the policy and before the row is read: whether to
   * answer. 0 declines. It must not depend on the row. NULL: answer. */
  int32_t (*review)(void* context, const coppice_terms* terms);
  /* Called once, when nothing can decline any more. Sets the row's columns. There is a report
   * whatever it sets; where it throws, what it set until then counts. It must return sooner than a
   * tenth of max_send_delay_seconds: if it takes longer than the wait that was drawn, the time of
   * sending depends on the row. Neither function may use or close the visit or close the device:
   * closing has no effect there, and other calls return INVALID_ARGUMENT. */
  void (*read_row)(void* context, const coppice_terms* terms, coppice_row* row);
  void* context;

  /* Where the relay of relay_key is reached, HOST:PORT, in the curator's place. What the caller has
   * to see to then:
   *
   *   - TLS, by the authority that the relay's operator names and by none of the system's: whoever
   *     can show another certificate reads which ticket the device has.
   *   - A token of the relay's is shown with TakeOffer alone (coppice_call.takes_ticket), so that
   * no report shows whose it is.
   *   - A call is carried when its wait is over (coppice_call.wait_milliseconds), and not before.
   *   - Nothing that the visit says goes to the curator.
   */
  const char* relay;
} coppice_visit_options;

/* As coppice_device_options_init_sized() and its macro: everything is NULL. */
COPPICE_API void coppice_visit_options_init_sized(coppice_visit_options* options, size_t size);
COPPICE_API void coppice_visit_options_init(coppice_visit_options* options);
#define coppice_visit_options_init(options) \
  coppice_visit_options_init_sized((options), sizeof(coppice_visit_options))

typedef struct coppice_visit coppice_visit;

/* Copies the options; `device` must outlive the visit, and has one visit at a time.
 * Errors: INVALID_ARGUMENT (options, or another visit is open); FAILED_PRECONDITION (the owner
 * opted out). */
COPPICE_API int32_t coppice_visit_open(coppice_device* device, const coppice_visit_options* options,
                                       coppice_visit** visit, coppice_error* error);
/* NULL is allowed. At any time: what was journalled is sent by a later visit. */
COPPICE_API void coppice_visit_close(coppice_visit* visit);

typedef struct {
  size_t struct_size;
  const char* method;     /* "/coppice.v1.StudyService/GetOffer"; NULL: the visit is over */
  const uint8_t* request; /* a serialized message, until the next call of coppice_visit_next(),
                             coppice_visit_take() or coppice_visit_fail() */
  size_t request_size;
  /* How long to wait from now before the call is carried; 0: not at all. It is drawn before the
   * device has a ticket, or, after a restart, before it sends anything, so that the time of sending
   * tells neither which tree made the work longer nor whose answer a restart held back.
   * coppice_visit_next() says what is left of it. */
  uint64_t wait_milliseconds;
  int32_t takes_ticket; /* 1: TakeOffer, with which alone a transport shows the relay's token */
} coppice_call;

/* What to carry next. The same again until it was taken or failed, or its answer was delivered or
 * given up meanwhile. Call it again after the wait: it says what is left of that, and whether there
 * is still something to send.
 * Errors: INVALID_ARGUMENT: in a visit to a relay struct_size does not reach past takes_ticket.
 * FAILED_PRECONDITION: the owner opted out, or this is a child of fork(); this and those of the
 * journal end the visit. */
COPPICE_API int32_t coppice_visit_next(coppice_visit* visit, coppice_call* call,
                                       coppice_error* error);

/* The most bytes of a response that are taken; a transport should refuse longer ones unread. */
#define COPPICE_MAX_RESPONSE_BYTES (64u << 20)

/* Takes the response to the last call, a serialized message. An error is about this step alone (an
 * offer or a deal that is declined: FAILED_PRECONDITION; bytes that do not check: DATA_LOSS), and
 * the visit goes on to deliver what waits, unless the journal or the random source failed. In a
 * relayed study all that can decline has declined before coppice_visit_next() asks for a ticket.
 * Errors: INVALID_ARGUMENT also without a call, or for a response that is too long. */
COPPICE_API int32_t coppice_visit_take(coppice_visit* visit, const uint8_t* response,
                                       size_t response_size, coppice_error* error);
/* Says that the last call failed, by a code of gRPC's that is not 0. The transport should have
 * tried again, with waits, after UNAVAILABLE and DEADLINE_EXCEEDED. Returns INVALID_ARGUMENT
 * without a call; else OK. */
COPPICE_API int32_t coppice_visit_fail(coppice_visit* visit, int32_t code, coppice_error* error);

typedef struct {
  size_t struct_size;
  coppice_error answer; /* OK: the study has an answer in the journal, from now or before; or none
                           was asked for; UNAVAILABLE until there is one */
  int32_t answered_now;
  uint64_t delivered;         /* counted by the curator, now or before */
  uint64_t refused;           /* for good */
  uint64_t unknown;           /* of studies that the curator does not know; they wait on */
  uint64_t of_other_curators; /* wait for theirs */
  /* By how much this device's clock is behind the time at which the curator signed what it sent, if
   * that is more than a day; else 0. Such a clock is not believed: time is at least that. */
  int64_t clock_behind_seconds;

  /* A visit to a relay counts these; the four counts before them stay 0. */
  uint64_t stored;    /* on the relay's disk: final, and nobody says what the curator makes of it */
  uint64_t lost;      /* for good; what they cost stays spent */
  uint64_t of_others; /* wait for another relay, or for a curator */
  coppice_error loss; /* why the last one was lost; COPPICE_OK if none was */
} coppice_outcome;

/* How the visit went so far. */
COPPICE_API int32_t coppice_visit_get_outcome(const coppice_visit* visit, coppice_outcome* outcome);

/* ---- A model --------------------------------------------------------------------------------- */

typedef struct coppice_model coppice_model;

/* Reads a serialized coppice.v1.Model (`coppice model export --format message`). Where it comes
 * from is the caller's to see to: its signature is not checked here. Errors: INVALID_ARGUMENT: it
 * is none, or of a later format. */
COPPICE_API int32_t coppice_model_open(const uint8_t* bytes, size_t size, coppice_model** model,
                                       coppice_error* error);
COPPICE_API void coppice_model_close(coppice_model* model);
/* Its columns, the label last. */
COPPICE_API const coppice_schema* coppice_model_schema(const coppice_model* model);

/* A row for this model, with everything missing; the label is passed over. The model must outlive
 * it. Errors: RESOURCE_EXHAUSTED. */
COPPICE_API int32_t coppice_model_new_row(const coppice_model* model, coppice_row** row,
                                          coppice_error* error);
COPPICE_API void coppice_row_clear(coppice_row* row);
COPPICE_API void coppice_row_close(coppice_row* row);

typedef struct {
  size_t struct_size;
  uint32_t class_number; /* the most probable class; 0 for a number */
  double probability;    /* of the class; 0 for a number */
  double number;         /* where a number is predicted; else 0 */
  double low;            /* 95 % interval of the probability or the number */
  double high;
} coppice_prediction;

/* Several threads may predict by one model, each with a row of its own. */
COPPICE_API int32_t coppice_model_predict(const coppice_model* model, const coppice_row* row,
                                          coppice_prediction* prediction, coppice_error* error);

#ifdef __cplusplus
}
#endif

#endif /* COPPICE_DEVICE_H_ */
