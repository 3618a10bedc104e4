(* What is proved of Coppice, in one file: definitions, and statements as `Definition NAME : Prop`.
   A theorem NAME_holds in another file of this folder proves each of them.

   models.v has the models of the C++. docs/research/proofs.md says what is not proved. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool.
From Coppice Require Export constants models.
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

(* ==== 2. Of the models ==== *)

Definition fraction (n d : Z) : Q := n # Z.to_pos d.

(* The laws that PrivateRandom promises of its draws. That OpenSslRandom keeps them is trusted here:
   its words are fair and independent, and never fail. Geometric is one entry of what the C++ fills:
   twice the number of steps (P(steps >= i) = ratio^i, cut at kManySteps), plus one if negative. *)
Definition uniform_law (bound : Z) : law Z := map (fun i => (i, fraction 1 bound)) (below bound).
Definition bernoulli_law (n d : Z) : law bool := [(true, fraction n d); (false, fraction (d - n) d)].
Fixpoint power (q : Q) (n : nat) : Q := match n with O => 1 | S n => q * power q n end%Q.
Definition steps_law (ratio : Q) : law Z :=
  map (fun i => (i, power ratio (Z.to_nat i) * (1 - ratio))%Q) (below kManySteps)
  ++ [(kManySteps, power ratio (Z.to_nat kManySteps))].
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

Definition epsilon_of (nanos : Z) : R := (IZR nanos / IZR kNanosPerEpsilon)%R.

(* e / 2^60 is at most the exponential, whatever the budget. *)
Definition exp_lower_bound_is_below : Prop :=
  forall nanos divisor, 0 < nanos -> 0 < divisor ->
    2 ^ kExpBits <= exp_lower_bound nanos divisor /\
    (IZR (exp_lower_bound nanos divisor)
     <= 2 ^ Z.to_nat kExpBits * exp (epsilon_of nanos / IZR divisor))%R.

(* A / 2^32, A = LieRate(), is at most one half and lies often enough: (2^32 - A) / A is at most the
   exponential. *)
Definition lie_rate_is_enough : Prop :=
  forall nanos divisor, 0 < nanos -> 0 < divisor ->
    let a := lie_rate nanos divisor in
    0 < a <= 2 ^ 31 /\
    (IZR (2 ^ 32 - a) / IZR a <= exp (epsilon_of nanos / IZR divisor))%R.

(* K is between 0 and 2^62, and the largest with which the worst ratio, 1 + symbols K / (kept (2^62 -
   K)), is at most e / 2^60. *)
Definition keep_rate_is_largest : Prop :=
  forall nanos kept symbols, 0 < nanos -> 0 < kept -> 0 < symbols ->
    let e := exp_lower_bound nanos 1 in
    let allowed k := symbols * k * 2 ^ kExpBits <= kept * (e - 2 ^ kExpBits) * (kKeepAlways - k) in
    let k := keep_rate nanos kept symbols in
    0 <= k < kKeepAlways /\ allowed k /\ ~ allowed (k + 1).

(* ---- what the mechanisms hide ---- *)

Definition in_domain (leaves classes : Z) (v : value) : Prop :=
  0 <= leaf v < leaves /\ 0 <= label v < classes.

(* What each mechanism promises: any value of the row for any other, in every column, whoever chose
   it; and each program has a law. *)
Definition locally_private (classes_allowed : Z -> Prop) (m : mechanism) : Prop :=
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

Definition input_in (leaves classes : Z) (x : input) : Prop :=
  match x with
  | Label v => in_domain leaves classes v
  | Number l place => 0 <= l < leaves /\ 0 <= place <= kStep /\ classes = 2
  end.

Definition numbers_are_private : Prop :=
  forall (report : value -> program (list Z)) leaves classes epsilon,
    (forall v, in_domain leaves classes v -> is_law (law_of (report v))) ->
    private (fun v w => in_domain leaves classes v /\ in_domain leaves classes w) epsilon
      (fun v => law_of (report v)) ->
    private (fun x y => input_in leaves classes x /\ input_in leaves classes y) epsilon
      (fun x => law_of (with_numbers report x)).

Definition window_response_is_private : Prop :=
  forall nanos reach half_width, 0 < nanos -> 0 <= half_width < reach -> reach <= kMaxReach ->
    (forall x, input_in 1 2 x -> is_law (law_of (window_response nanos reach half_width x))) /\
    private (fun x y => input_in 1 2 x /\ input_in 1 2 y) (epsilon_of nanos)
      (fun x => law_of (window_response nanos reach half_width x)).

Definition symmetric_unary_is_private : Prop := locally_private any_number symmetric_unary.
Definition optimized_unary_is_private : Prop := locally_private any_number optimized_unary.
