(* Models of the C++ files that stand above them, draw by draw and in their own whole numbers.
   model_tables_test.cc compares them with the C++; statements.v says what is proved of them. *)
From Coq Require Import ZArith List Bool.
From Coppice Require Import constants.
Import ListNotations.
Open Scope Z_scope.

(* ==== 1. Programs that draw, as common/privacy/private_random.h lets them ==== *)

Definition below (bound : Z) : list Z := map Z.of_nat (seq 0 (Z.to_nat bound)).

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

(* ==== 2. Rates: common/privacy/exp_bound.cc and common/ldp/keep_rate.cc ==== *)

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

(* ==== 3. Mechanisms that send a symbol: common/ldp/symbol_response.cc ==== *)

Record value := { leaf : Z; label : Z }.  (* LeafLabel *)
Definition cell_of (classes : Z) (v : value) : Z := leaf v * classes + label v.  (* CellOf() *)

(* std::bit_width() and std::bit_ceil() *)
Definition bit_width (n : Z) : Z := if n <=? 0 then 0 else Z.log2 n + 1.
Definition bit_ceil (n : Z) : Z := 2 ^ bit_width (n - 1).

(* Write(): the symbol's low byte first. *)
Definition little_endian (bytes number : Z) : list Z :=
  map (fun i => number / 2 ^ (8 * i) mod 256) (below bytes).

Definition draw_symbol (rate symbols symbol : Z) : program Z :=
  Bernoulli rate kKeepAlways (fun kept =>
    UniformBelow symbols (fun any => Return (if kept then symbol else any))).
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

(* ==== 4. Numbers: common/ldp/window_response.cc and common/ldp/randomized_rounding.h ==== *)

(* RoundToAStep(). A place in a range is a whole number of 2^-53, from 0 to 2^53. *)
Definition kStep : Z := 2 ^ 53.
Definition round_to_a_step (place steps : Z) : program Z :=
  let exact := place * steps in
  Bernoulli (exact mod kStep) kStep (fun is_upper => Return (exact / kStep + if is_upper then 1 else 0)).

(* What a device hides: a class, or a number between the ends that two classes are. *)
Inductive input := Label (v : value) | Number (leaf place : Z).

(* LocalMechanism::WriteNumber(): a number becomes an end, which is hidden like a class. *)
Definition with_numbers (report : value -> program (list Z)) (x : input) : program (list Z) :=
  match x with
  | Label v => report v
  | Number l place => then_ (round_to_a_step place 1) (fun upper => report {| leaf := l; label := upper |})
  end.

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

(* ==== 5. Bits: common/ldp/unary_vector.cc and common/ldp/steps.h ==== *)

(* ForEachSuccess(): positions of the successes in `trials` trials that fail with `failures` / 2^32,
   by the steps between them, which are drawn some at a time. *)
Definition batch_size (failures trials : Z) : nat :=
  Z.to_nat (Z.min 32 (trials * (2 ^ 32 - failures) / 2 ^ 32 + 1)).
Fixpoint geometric_batch (count : nat) (failures : Z) : program (list Z) :=
  match count with
  | O => Return []
  | S fewer => Geometric failures (fun g =>
      then_ (geometric_batch fewer failures) (fun rest => Return (g :: rest)))
  end.
Fixpoint walk (trials : Z) (draws : list Z) (position : Z) (hits : list Z) : bool * Z * list Z :=
  match draws with
  | [] => (false, position, hits)
  | g :: rest =>
      let at_ := position + g / 2 in
      if trials <=? at_ then (true, at_, hits)
      else if g / 2 =? kManySteps then walk trials rest at_ hits
      else walk trials rest (at_ + 1) (hits ++ [at_])
  end.
Fixpoint successes (rounds : nat) (failures trials position : Z) (hits : list Z) : program (list Z) :=
  match rounds with
  | O => Return hits
  | S rounds => then_ (geometric_batch (batch_size failures trials) failures) (fun draws =>
      let '(is_done, position, hits) := walk trials draws position hits in
      if is_done then Return hits else successes rounds failures trials position hits)
  end.

(* common/ldp/payload/bit_payload.h: bit i is bit i mod 8 of byte i / 8. *)
Definition bit_payload (bits : Z) (ones : list Z) : list Z :=
  map (fun byte =>
    fold_right (fun b sum => (if existsb (Z.eqb (8 * byte + b)) ones then 2 ^ b else 0) + sum) 0 (below 8))
    (below ((bits + 7) / 8)).

(* UnaryVector::Write(): the row's bit is one with p / 2^32, every other with q / 2^32. *)
Definition unary (p q bits cell : Z) : program (list Z) :=
  then_ (successes (S (Z.to_nat bits)) (2 ^ 32 - q) bits 0 []) (fun hits =>
    let others := filter (fun i => negb (i =? cell)) hits in
    Bernoulli p (2 ^ 32) (fun one =>
    Return (bit_payload bits (if one then cell :: others else others)))).

(* common/ldp/symmetric_unary.cc, common/ldp/optimized_unary.cc *)
Definition symmetric_unary : mechanism := fun nanos leaves classes =>
  let q := lie_rate nanos 2 in
  fun column v => unary (2 ^ 32 - q) q (leaves * classes) (cell_of classes v).
Definition optimized_unary : mechanism := fun nanos leaves classes =>
  let q := lie_rate nanos 1 in
  fun column v => unary (2 ^ 31) q (leaves * classes) (cell_of classes v).
