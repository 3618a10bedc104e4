(* What is proved of Coppice, in one file: definitions, and statements as `Definition NAME : Prop`.
   A theorem NAME_holds in another file of this folder proves each of them.

   Definitions model the C++ file that stands above them, draw by draw and in its own whole numbers.
   model_tables_test.cc compares the two. docs/research/proofs.md says what is not proved. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool.
From Coppice Require Import constants.
Import ListNotations.
Open Scope Z_scope.

(* ==== 1. Laws and privacy ==== *)

(* A law with finitely many outcomes and rational weights. An outcome may occur more than once; its
   probability is the sum of its weights. *)
Definition law (A : Type) := list (A * Q).

(* An event is any set of outcomes. *)
Fixpoint probability {A} (l : law A) (event : A -> bool) : Q :=
  match l with
  | [] => 0
  | (a, w) :: rest => (if event a then w else 0) + probability rest event
  end%Q.

Definition nonnegative {A} (l : law A) : Prop := forall a w, In (a, w) l -> (0 <= w)%Q.
Definition is_law {A} (l : law A) : Prop :=
  nonnegative l /\ (probability l (fun _ => true) == 1)%Q.

(* The neighbouring relation is a parameter: each statement names the one that it is about. *)
Definition private {X A} (neighbours : X -> X -> Prop) (epsilon : R) (mechanism : X -> law A) :=
  forall x y, neighbours x y -> forall event,
    (Q2R (probability (mechanism x) event)
     <= exp epsilon * Q2R (probability (mechanism y) event))%R /\
    (Q2R (probability (mechanism y) event)
     <= exp epsilon * Q2R (probability (mechanism x) event))%R.

(* Local privacy: any value of a device's row for any other. *)
Definition any_two {X : Type} (x y : X) : Prop := True.

(* One row of a table more or less, wherever it stands. *)
Definition add_or_remove_row {Row} (x y : list Row) : Prop :=
  exists before row after,
    (x = before ++ after /\ y = before ++ row :: after) \/
    (y = before ++ after /\ x = before ++ row :: after).

(* At most `count` steps from neighbour to neighbour: a person with that many rows. *)
Fixpoint chain {X} (neighbours : X -> X -> Prop) (count : nat) (x y : X) : Prop :=
  match count with
  | O => x = y
  | S fewer => x = y \/ exists between, neighbours x between /\ chain neighbours fewer between y
  end.

Definition scale {A} (w : Q) (l : law A) : law A := map (fun '(a, v) => (a, w * v)%Q) l.
Definition certain {A} (a : A) : law A := [(a, 1%Q)].
Fixpoint bind {A B} (l : law A) (next : A -> law B) : law B :=
  match l with
  | [] => []
  | (a, w) :: rest => scale w (next a) ++ bind rest next
  end.
Definition both {A B} (l : law A) (m : law B) : law (A * B) :=
  bind l (fun a => bind m (fun b => certain (a, b))).
Fixpoint all_of {A} (laws : list (law A)) : law (list A) :=
  match laws with
  | [] => certain []
  | l :: rest => bind l (fun a => bind (all_of rest) (fun others => certain (a :: others)))
  end.

(* What follows a release can be any function of it that reads no private row and draws as it
   likes. *)
Definition post_processing : Prop :=
  forall X A B neighbours epsilon (m : X -> law A) (after : A -> law B),
    private neighbours epsilon m -> (forall a, is_law (after a)) ->
    private neighbours epsilon (fun x => bind (m x) after).

(* Somebody who asks adaptively: of each answer may depend who is asked next, and at which cost. *)
Inductive questions (X A : Type) : Type :=
  | Done
  | Ask (cost : R) (mechanism : X -> law A) (next : A -> questions X A).
Arguments Done {X A}.
Arguments Ask {X A}.

Fixpoint transcript {X A} (q : questions X A) (x : X) : law (list A) :=
  match q with
  | Done => certain []
  | Ask _ mechanism next =>
      bind (mechanism x) (fun a => bind (transcript (next a) x) (fun rest => certain (a :: rest)))
  end.

(* Each mechanism keeps to its cost, and no answers let the costs exceed the budget. *)
Fixpoint within {X A} (neighbours : X -> X -> Prop) (budget : R) (q : questions X A) : Prop :=
  match q with
  | Done => (0 <= budget)%R
  | Ask cost mechanism next =>
      private neighbours cost mechanism /\ (forall x, is_law (mechanism x)) /\
      forall a, within neighbours (budget - cost) (next a)
  end.

(* common/model/certificate.h adds releases up so; docs/research/mechanisms.md#composition *)
Definition adaptive_composition : Prop :=
  forall X A neighbours budget (q : questions X A),
    within neighbours budget q -> private neighbours budget (transcript q).

(* Each row is in the one part that a public function names; releases on parts cost the largest. *)
Definition parallel_composition : Prop :=
  forall Row A epsilon (part_of : Row -> nat) (parts : nat) (m : nat -> list Row -> law A),
    (forall i, private add_or_remove_row epsilon (m i)) -> (forall i x, is_law (m i x)) ->
    (0 <= epsilon)%R ->
    private add_or_remove_row epsilon
      (fun x => all_of (map (fun i => m i (filter (fun row => Nat.eqb (part_of row) i) x))
                            (seq 0 parts))).

Definition group_privacy : Prop :=
  forall X A neighbours epsilon count (m : X -> law A),
    private neighbours epsilon m -> (forall x, is_law (m x)) -> (0 <= epsilon)%R ->
    private (chain neighbours count) (INR count * epsilon) m.

(* A coin that does not depend on the row, and is published, changes nothing. *)
Definition public_coins : Prop :=
  forall X C A neighbours epsilon (coin : law C) (m : C -> X -> law A),
    is_law coin -> (forall c, private neighbours epsilon (m c)) ->
    private neighbours epsilon (fun x => bind coin (fun c => bind (m c x) (fun a => certain (c, a)))).

(* Nor does any function by which a device makes a value of its row, fit or unfit. *)
Definition total_encoding : Prop :=
  forall Row X A epsilon (encode : Row -> X) (m : X -> law A),
    private any_two epsilon m -> private any_two epsilon (fun row => m (encode row)).

(* A value drawn from one of several by a coin of the row's own: a number rounded at random. *)
Definition mixture : Prop :=
  forall Row X A epsilon (encode : Row -> law X) (m : X -> law A),
    (forall row, is_law (encode row)) -> private any_two epsilon m ->
    private any_two epsilon (fun row => bind (encode row) m).

(* ==== 2. Programs that draw, as common/privacy/private_random.h lets them ==== *)

(* A program asks PrivateRandom for one draw after another and ends with a result. *)
Inductive program (A : Type) : Type :=
  | Return (a : A)
  | UniformBelow (bound : Z) (next : Z -> program A)
  | Bernoulli (numerator denominator : Z) (next : bool -> program A)
  | Geometric (numerator : Z) (next : Z -> program A).
Arguments Return {A}. Arguments UniformBelow {A}. Arguments Bernoulli {A}. Arguments Geometric {A}.

Fixpoint then_ {A B} (p : program A) (k : A -> program B) : program B :=
  match p with
  | Return a => k a
  | UniformBelow bound next => UniformBelow bound (fun i => then_ (next i) k)
  | Bernoulli n d next => Bernoulli n d (fun b => then_ (next b) k)
  | Geometric n next => Geometric n (fun g => then_ (next g) k)
  end.

Definition fraction (n d : Z) : Q := n # Z.to_pos d.
Definition below (bound : Z) : list Z := map Z.of_nat (seq 0 (Z.to_nat bound)).

(* The laws that PrivateRandom promises of its draws. That OpenSslRandom keeps them is trusted here:
   its words are fair and independent, and never fail. Geometric is one entry of what the C++ fills:
   twice the number of steps (P(steps >= i) = ratio^i, cut at kManySteps), plus one if negative. *)
Definition uniform_law (bound : Z) : law Z := map (fun i => (i, fraction 1 bound)) (below bound).
Definition bernoulli_law (n d : Z) : law bool := [(true, fraction n d); (false, fraction (d - n) d)].
Definition steps_law (ratio : Q) : law Z :=
  map (fun i => (i, (ratio ^ i) * (1 - ratio))%Q) (below kManySteps)
  ++ [(kManySteps, ratio ^ kManySteps)%Q].
Definition geometric_law (numerator : Z) : law Z :=
  bind (steps_law (fraction numerator (2 ^ 32))) (fun steps =>
  bind (bernoulli_law 1 2) (fun negative => certain (2 * steps + if negative then 1 else 0))).

Fixpoint law_of {A} (p : program A) : law A :=
  match p with
  | Return a => certain a
  | UniformBelow bound next => bind (uniform_law bound) (fun i => law_of (next i))
  | Bernoulli n d next => bind (bernoulli_law n d) (fun b => law_of (next b))
  | Geometric n next => bind (geometric_law n) (fun g => law_of (next g))
  end.

(* ==== 3. Rates: common/privacy/exp_bound.cc and common/ldp/keep_rate.cc ==== *)

Definition epsilon_of (nanos : Z) : R := (IZR nanos / IZR kNanosPerEpsilon)%R.

(* ExpLowerBound(). The loop ends when a term is 0; 300 rounds are more than it ever makes. *)
Fixpoint exp_terms (rounds : nat) (nanos unit k term sum : Z) : Z :=
  match rounds with
  | O => sum
  | S rounds =>
      if term =? 0 then sum
      else let term := term * nanos / (unit * k) in exp_terms rounds nanos unit (k + 1) term (sum + term)
  end.
Definition exp_lower_bound (nanos divisor : Z) : Z :=
  let unit := kNanosPerEpsilon * divisor in
  exp_terms 300 (Z.min nanos (kMaxExponent * unit)) unit 1 (2 ^ kExpBits) (2 ^ kExpBits).

Definition ceil_divide (n d : Z) : Z := (n + d - 1) / d.
Definition decay_ratio (nanos divisor : Z) : Z :=
  ceil_divide (2 ^ (kExpBits + 32)) (exp_lower_bound nanos divisor).
Definition lie_rate (nanos divisor : Z) : Z :=
  ceil_divide (2 ^ kExpBits * 2 ^ 32) (2 ^ kExpBits + exp_lower_bound nanos divisor).

(* KeepRate() *)
Definition keep_rate (nanos kept symbols : Z) : Z :=
  let one := 2 ^ kExpBits in
  let gain := (exp_lower_bound nanos 1 - one) * kept in
  let whole := gain + one * symbols in
  let digits := kKeepRateBits / 2 in
  let high := gain * 2 ^ digits / whole in
  let rest := gain * 2 ^ digits mod whole in
  high * 2 ^ digits + rest * 2 ^ digits / whole.

Definition kKeepAlways : Z := 2 ^ kKeepRateBits.

(* e / 2^60 is at most the exponential, whatever the budget. *)
Definition exp_lower_bound_is_below : Prop :=
  forall nanos divisor, 0 < nanos -> 0 < divisor ->
    2 ^ kExpBits <= exp_lower_bound nanos divisor /\
    (IZR (exp_lower_bound nanos divisor)
     <= 2 ^ Z.to_nat kExpBits * exp (epsilon_of nanos / IZR divisor))%R.

(* K is between 0 and 2^62, and the largest with which the worst ratio, 1 + symbols K / (kept (2^62 -
   K)), is at most e / 2^60. *)
Definition keep_rate_is_largest : Prop :=
  forall nanos kept symbols, 0 < nanos -> 0 < kept -> 0 < symbols ->
    let e := exp_lower_bound nanos 1 in
    let allowed k := symbols * k * 2 ^ kExpBits <= kept * (e - 2 ^ kExpBits) * (kKeepAlways - k) in
    let k := keep_rate nanos kept symbols in
    0 <= k < kKeepAlways /\ allowed k /\ ~ allowed (k + 1).

(* ==== 4. Mechanisms that send a symbol: common/ldp/symbol_response.cc ==== *)

Record value := { leaf : Z; label : Z }.  (* LeafLabel *)
Definition cell_of (classes : Z) (v : value) : Z := leaf v * classes + label v.  (* CellOf() *)
Definition in_domain (leaves classes : Z) (v : value) : Prop :=
  0 <= leaf v < leaves /\ 0 <= label v < classes.

(* std::bit_width() and std::bit_ceil() *)
Definition bit_width (n : Z) : Z := if n <=? 0 then 0 else Z.log2 n + 1.
Definition bit_ceil (n : Z) : Z := 2 ^ bit_width (n - 1).

(* Write(): the symbol's low byte first. *)
Definition little_endian (bytes number : Z) : list Z :=
  map (fun i => number / 2 ^ (8 * i) mod 256) (below bytes).

Definition draw_symbol (rate symbols symbol : Z) : program Z :=
  Bernoulli rate kKeepAlways (fun kept =>
    if kept then Return symbol else UniformBelow symbols (fun any => Return any)).
(* SymbolResponse::Write(): a payload in bytes. *)
Definition symbol_response (nanos symbols : Z) : Z -> program (list Z) :=
  let rate := keep_rate nanos 1 symbols in
  let bytes := (bit_width (symbols - 1) + 7) / 8 in
  fun symbol =>
    then_ (draw_symbol rate symbols symbol) (fun sent => Return (little_endian bytes sent)).

(* What a mechanism is made for comes first (its constructor); then a column and a row. *)
Definition mechanism := Z -> Z -> Z -> Z -> value -> program (list Z).

(* common/ldp/direct.cc *)
Definition direct : mechanism := fun nanos leaves classes =>
  let send := symbol_response nanos (leaves * classes) in
  fun column v => send (cell_of classes v).

(* common/ldp/signed_hadamard.cc, common/ldp/walsh_hadamard.h *)
Fixpoint odd_ones (p : positive) : bool :=
  match p with xH => true | xO q => odd_ones q | xI q => negb (odd_ones q) end.
Definition is_negative_entry (row column : Z) : bool :=
  match Z.land row column with Zpos p => odd_ones p | _ => false end.
Definition signed_hadamard : mechanism := fun nanos leaves classes =>
  let send := symbol_response nanos 2 in
  fun column v =>
    let cell := cell_of 2 v in
    send (if xorb (cell mod 2 =? 0) (is_negative_entry column (cell / 2)) then 1 else 0).

(* common/ldp/hadamard_response.cc: BlocksFor(), SymbolOf() *)
Fixpoint double_blocks (rounds : nat) (gain most blocks : Z) : Z :=
  match rounds with
  | O => blocks
  | S rounds =>
      if (blocks <? most) && (8 * blocks * blocks * 2 ^ kExpBits <? gain * gain)
      then double_blocks rounds gain most (blocks * 2) else blocks
  end.
Definition blocks_for (nanos cells : Z) : Z :=
  let bits := kExpBits / 2 in
  double_blocks 64 (exp_lower_bound nanos 1 / 2 ^ bits - 2 ^ bits) (bit_ceil cells) 1.
Definition hadamard_response : mechanism := fun nanos leaves classes =>
  let blocks := blocks_for nanos (leaves * classes) in
  let send := symbol_response nanos (2 * blocks) in
  fun column v =>
    let cell := cell_of classes v in
    send (2 * (cell mod blocks) + if is_negative_entry column (cell / blocks) then 1 else 0).

(* common/ldp/local_hashing.cc: Choose(), WithPrime(), SymbolOf(). A family is its prime and its vectors. *)
Definition is_prime (n : Z) : bool :=
  forallb (fun f => (f <? 2) || (n <? f * f) || negb (n mod f =? 0)) (below (Z.sqrt n + 1)).
Fixpoint vectors_with (rounds : nat) (prime cells vectors : Z) : Z :=
  match rounds with
  | O => vectors
  | S rounds =>
      if vectors <? cells then vectors_with rounds prime cells (vectors * prime) else vectors
  end.
Definition hashing_noise (x prime all : Z) : Z :=
  let one := 2 ^ 20 in
  let spread := prime * (all - 1) * one in
  ((all - prime) * x + spread) / all * ((all * x + spread) / all) / (prime - 1).
Definition choose_prime (nanos cells : Z) : Z :=
  let x := exp_lower_bound nanos 1 / 2 ^ (kExpBits - 20) - 2 ^ 20 in
  let most_sums := Z.max (32 * cells) 4096 in
  snd (fold_left (fun '(least, best) prime =>
    let all := vectors_with 64 prime cells prime in
    if (prime <? 2) || (most_sums <? all * prime) || negb (is_prime prime) then (least, best)
    else let noise := hashing_noise x prime all in
         if least <=? noise then (least, best) else (noise, prime))
    (below (Z.sqrt most_sums + 1)) (2 ^ 128 - 1, 2)).
Fixpoint inner_product (rounds : nat) (prime a cell : Z) : Z :=
  match rounds with
  | O => 0
  | S rounds =>
      if (0 <? a) && (0 <? cell)
      then (a mod prime) * (cell mod prime) + inner_product rounds prime (a / prime) (cell / prime)
      else 0
  end.
Definition local_hashing : mechanism := fun nanos leaves classes =>
  let prime := choose_prime nanos (leaves * classes) in
  let send := symbol_response nanos prime in
  fun column v => send (inner_product 64 prime (column + 1) (cell_of classes v) mod prime).

(* What each mechanism promises: any value of the row for any other, in every column, whoever chose
   it; and each program has a law. *)
Definition locally_private (classes_allowed : Z -> Prop)
    (m : mechanism) : Prop :=
  forall nanos leaves classes column, 0 < nanos -> 0 < leaves -> 2 <= classes ->
    classes_allowed classes ->
    (forall v, in_domain leaves classes v -> is_law (law_of (m nanos leaves classes column v)))
    /\
    private (fun v w => in_domain leaves classes v /\ in_domain leaves classes w) (epsilon_of nanos)
      (fun v => law_of (m nanos leaves classes column v)).

Definition any_number (classes : Z) : Prop := True.
Definition direct_is_private : Prop := locally_private any_number direct.
Definition signed_hadamard_is_private : Prop := locally_private (eq 2) signed_hadamard.
Definition hadamard_response_is_private : Prop := locally_private any_number hadamard_response.
Definition local_hashing_is_private : Prop := locally_private any_number local_hashing.

(* ==== 5. Numbers: common/ldp/window_response.cc and common/ldp/randomized_rounding.h ==== *)

(* RoundToAStep(). A place in a range is a whole number of 2^-53, from 0 to 2^53. *)
Definition kStep : Z := 2 ^ 53.
Definition round_to_a_step (place steps : Z) : program Z :=
  let exact := place * steps in
  Bernoulli (exact mod kStep) kStep (fun is_upper => Return (exact / kStep + if is_upper then 1 else 0)).

(* What a device hides: a class, or a number between the ends that two classes are. *)
Inductive input := Label (v : value) | Number (leaf place : Z).
Definition input_in (leaves classes : Z) (x : input) : Prop :=
  match x with
  | Label v => in_domain leaves classes v
  | Number l place => 0 <= l < leaves /\ 0 <= place <= kStep /\ classes = 2
  end.

(* LocalMechanism::WriteNumber(): a number becomes an end, which is hidden like a class. *)
Definition with_numbers (report : value -> program (list Z)) (x : input) : program (list Z) :=
  match x with
  | Label v => report v
  | Number l place => then_ (round_to_a_step place 1) (fun upper => report {| leaf := l; label := upper |})
  end.
Definition numbers_are_private : Prop :=
  forall (report : value -> program (list Z)) leaves classes epsilon,
    (forall v, in_domain leaves classes v -> is_law (law_of (report v))) ->
    private (fun v w => in_domain leaves classes v /\ in_domain leaves classes w) epsilon
      (fun v => law_of (report v)) ->
    private (fun x y => input_in leaves classes x /\ input_in leaves classes y) epsilon
      (fun x => law_of (with_numbers report x)).

(* WindowResponse: a report is one byte, from 0 to 2 reach. *)
Definition draw_in_window (rate kept symbols step : Z) : program (list Z) :=
  Bernoulli rate kKeepAlways (fun is_kept =>
  UniformBelow kept (fun in_window => UniformBelow symbols (fun any =>
  Return [if is_kept then step + in_window else any]))).
Definition window_response (nanos reach half_width : Z) : input -> program (list Z) :=
  let kept := 2 * half_width + 1 in
  let symbols := 2 * reach + 1 in
  let steps := 2 * (reach - half_width) in
  let rate := keep_rate nanos kept symbols in
  fun x => match x with
    | Label v => draw_in_window rate kept symbols (if label v =? 0 then 0 else steps)
    | Number _ place => then_ (round_to_a_step place steps) (draw_in_window rate kept symbols)
    end.
Definition window_response_is_private : Prop :=
  forall nanos reach half_width, 0 < nanos -> 0 <= half_width < reach -> reach <= kMaxReach ->
    (forall x, input_in 1 2 x -> is_law (law_of (window_response nanos reach half_width x))) /\
    private (fun x y => input_in 1 2 x /\ input_in 1 2 y) (epsilon_of nanos)
      (fun x => law_of (window_response nanos reach half_width x)).
