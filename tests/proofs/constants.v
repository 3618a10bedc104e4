(* Constants of the C++ sources. Written by check.py --update; do not edit. *)
From Coq Require Import ZArith.
Open Scope Z_scope.

Definition kNanosPerEpsilon : Z := 1000000000.  (* common/privacy/budget.h *)
Definition kExpBits : Z := 60.  (* common/privacy/exp_bound.h *)
Definition kMaxExponent : Z := 20.  (* common/privacy/exp_bound.cc *)
Definition kKeepRateBits : Z := 62.  (* common/ldp/keep_rate.h *)
Definition kManySteps : Z := 62.  (* common/privacy/geometric_table.h *)
Definition kMaxReach : Z := 63.  (* common/ldp/window_response.h *)
