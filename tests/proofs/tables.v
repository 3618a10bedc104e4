(* Makes the tables that reports_test.cc compares the C++ with; check.py writes them down. *)
From Coq Require Import ZArith List Bool.
From Coppice Require Import constants statements.
Import ListNotations.
Open Scope Z_scope.

(* ---- paths through a program ---- *)

(* A draw: its kind, what was asked, and what came of it. *)
Definition draw : Type := list Z.
Definition uniform_draw (bound i : Z) : draw := [1; bound; 0; i].
Definition bernoulli_draw (n d : Z) (b : bool) : draw := [2; n; d; if b then 1 else 0].
Definition geometric_draw (n g : Z) : draw := [3; n; 0; g].

(* All paths. Geometric draws are those of `steps`, with either sign in turn. *)
Fixpoint paths {A} (steps : list Z) (p : program A) : list (list draw * A) :=
  match p with
  | Return a => [([], a)]
  | UniformBelow bound next =>
      flat_map (fun i => map (fun '(d, a) => (uniform_draw bound i :: d, a)) (paths steps (next i)))
               (below bound)
  | Bernoulli n d next =>
      flat_map (fun b => map (fun '(r, a) => (bernoulli_draw n d b :: r, a)) (paths steps (next b)))
               (if n =? 0 then [false] else [true; false])
  | Geometric n next =>
      flat_map (fun s => map (fun '(d, a) => (geometric_draw n (2 * s + s mod 2) :: d, a))
                             (paths steps (next (2 * s + s mod 2)))) steps
  end.

(* One path, by the numbers that a generator makes of a seed. Only tests rest on them. *)
Definition next_seed (seed : Z) : Z := (seed * 6364136223846793005 + 1442695040888963407) mod 2 ^ 64.
Definition number (seed bound : Z) : Z := (seed / 2 ^ 24) mod bound.
(* Few steps mostly; one in eight draws is kManySteps or near it. *)
Definition some_steps (seed : Z) : Z :=
  if number seed 8 =? 0 then kManySteps - number (seed / 8) 3 else number (seed / 8) 12.
Fixpoint sample {A} (seed : Z) (p : program A) : list draw * A :=
  match p with
  | Return a => ([], a)
  | UniformBelow bound next =>
      let i := number seed bound in
      let '(d, a) := sample (next_seed seed) (next i) in (uniform_draw bound i :: d, a)
  | Bernoulli n d next =>
      let b := (number seed 2 =? 0) && (0 <? n) in
      let '(r, a) := sample (next_seed seed) (next b) in (bernoulli_draw n d b :: r, a)
  | Geometric n next =>
      let g := 2 * some_steps seed + number (seed / 2) 2 in
      let '(d, a) := sample (next_seed seed) (next g) in (geometric_draw n g :: d, a)
  end.

(* ---- cases ---- *)

(* The number of a mechanism (MechanismKind), an epsilon and a domain. *)
Record case := { kind : Z; nanos : Z; leaves : Z; classes : Z; reach : Z; half_width : Z }.

Definition columns (c : case) : Z :=
  let cells := leaves c * classes c in
  if kind c =? 7 then bit_ceil (ceil_divide cells (blocks_for (nanos c) cells))
  else if kind c =? 8 then
    let prime := choose_prime (nanos c) cells in vectors_with 64 prime cells prime - 1
  else if kind c =? 9 then bit_ceil (leaves c)
  else 1.

Definition program_of (c : case) : Z -> input -> program (list Z) :=
  let run (m : mechanism) :=
    let report := m (nanos c) (leaves c) (classes c) in
    fun column x => with_numbers (report column) x in
  if kind c =? 10 then let report := window_response (nanos c) (reach c) (half_width c) in fun _ x => report x
  else if kind c =? 3 then run symmetric_unary
  else if kind c =? 4 then run optimized_unary
  else if kind c =? 6 then run direct
  else if kind c =? 7 then run hadamard_response
  else if kind c =? 8 then run local_hashing
  else run signed_hadamard.

(* All rows; where there are two classes some numbers, too: the ends, those beside them, and others. *)
Definition some_places : list Z := [0; 1; kStep / 3; kStep / 2; kStep - 1; kStep].
Definition inputs (c : case) : list input :=
  flat_map (fun l =>
    map (fun k => Label {| leaf := l; label := k |}) (below (classes c))
    ++ if (classes c =? 2) && (leaves c <? 3) then map (Number l) some_places else [])
    (below (leaves c)).

Definition row (x : input) (column : Z) (path : list draw * list Z) : list Z :=
  let '(draws, payload) := path in
  match x with
  | Label v => [leaf v; label v; -1; column]
  | Number l place => [l; -1; place; column]
  end ++ [Z.of_nat (length draws)] ++ concat draws ++ payload.
Definition head (c : case) : list Z :=
  [kind c; nanos c; leaves c; classes c; reach c; half_width c; columns c].

(* The steps that tell positions in so few cells apart, and the most. *)
Definition steps_for (c : case) : list Z := below (leaves c * classes c + 1) ++ [kManySteps].

Definition whole_case (c : case) : list (list Z) * list Z :=
  let report := program_of c in
  (flat_map (fun column => flat_map (fun x =>
     map (row x column) (paths (steps_for c) (report column x))) (inputs c))
     (below (columns c)), head c).

Fixpoint seeds (count : nat) (seed : Z) : list Z :=
  match count with
  | O => []
  | S fewer => seed :: seeds fewer (next_seed (next_seed seed + 1))
  end.

Definition some_of_case (count : nat) (c : case) : list (list Z) * list Z :=
  let columns := columns c in
  let report := program_of c in
  (map (fun seed =>
     let column := number seed columns in
     let l := number (next_seed seed) (leaves c) in
     let x := if (classes c =? 2) && (number seed 3 =? 0)
       then Number l (number (next_seed (seed + 1)) (kStep + 1))
       else Label {| leaf := l; label := number (next_seed (seed + 1)) (classes c) |} in
     row x column (sample (next_seed (seed + 2)) (report column x)))
     (seeds count (nanos c * 1000003 + kind c * 65537 + leaves c)), head c).

Definition joint (kind nanos leaves classes : Z) : case :=
  {| kind := kind; nanos := nanos; leaves := leaves; classes := classes; reach := 0; half_width := 0 |}.

Definition window (nanos reach half_width : Z) : case :=
  {| kind := 10; nanos := nanos; leaves := 1; classes := 2; reach := reach; half_width := half_width |}.

Definition symbol_kinds : list Z := [6; 7; 8].

Definition small_cases : list case :=
  flat_map (fun k => flat_map (fun n => map (fun '(l, c) => joint k n l c)
    [(1, 2); (2, 2); (1, 3)]) [10000000; 1000000000; 4000000000]) symbol_kinds
  ++ map (fun k => joint k 2000000000 3 3) symbol_kinds
  ++ flat_map (fun n => map (fun l => joint 9 n l 2) [1; 2; 3; 5]) [10000000; 1000000000; 20000000000]
  ++ flat_map (fun n => [joint 3 n 1 2; joint 4 n 1 2]) [10000000; 1000000000; 20000000000]
  ++ [joint 4 1000000000 1 3]
  ++ [window 10000000 1 0; window 1000000000 2 1; window 2000000000 4 1; window 4000000000 3 2].

(* Epsilons from .01 to 1000, with the ends and those beside whole numbers. *)
Definition some_nanos (seed : Z) : Z :=
  let s := number seed 4 in
  if s =? 0 then 10000000 + number (seed / 4) 990000000
  else if s =? 1 then 1000000000 + number (seed / 4) 7000000000
  else if s =? 2 then 8000000000 + number (seed / 4) 12000000001
  else 20000000000 + number (seed / 4) 980000000001.
Definition large_cases : list case :=
  flat_map (fun seed =>
    let n := some_nanos seed in
    let l := 1 + number (next_seed seed) 700 in
    let c := 2 + number (next_seed (seed + 1)) 5 in
    map (fun k => joint k n l c) symbol_kinds ++ [joint 9 n l 2]) (seeds 25 12345)
  ++ map (fun k => joint k 1000000000 4096 3) symbol_kinds ++ [joint 6 10000000 2097152 2]
  ++ map (fun seed => let reach := 1 + number seed 63 in
       window (some_nanos (next_seed seed)) reach (number (next_seed (seed + 1)) reach)) (seeds 60 7)
  ++ flat_map (fun seed => let l := 1 + number seed 40 in
       [joint 3 (some_nanos (next_seed seed)) l 2; joint 4 (some_nanos (next_seed seed)) l 3]) (seeds 10 5)
  ++ [joint 3 1000000000 64 3; joint 4 4000000000 128 2]
  ++ [window 20000000000 63 0; window 10000000 63 62; window 1000000000000 63 31].

(* ---- rates ---- *)

Definition edge_nanos : list Z :=
  [1; 2; 3; 999; 9999999; 10000000; 10000001; 99999999; 500000000; 693147180; 693147181; 999999999;
   1000000000; 1000000001; 1386294361; 2000000000; 3000000000; 4000000000; 7999999999; 8000000000;
   19999999999; 20000000000; 20000000001; 39999999999; 40000000000; 40000000001; 79999999999;
   80000000000; 80000000001; 999999999999; 1000000000000; 1000000000000000].
Definition many_nanos : list Z := edge_nanos ++ map some_nanos (seeds 60 99).

Definition exp_rows : list (list Z) :=
  flat_map (fun n => map (fun d => [n; d; exp_lower_bound n d; decay_ratio n d; lie_rate n d])
                         [1; 2; 4]) many_nanos.
Definition keep_rows : list (list Z) :=
  map (fun '(n, kept, symbols) => [n; kept; symbols; keep_rate n kept symbols])
  (flat_map (fun n => [(n, 1, 2); (n, 1, 4294967295); (n, 125, 127); (n, 127, 128);
                       (n, 127, 4294967295)]) edge_nanos
   ++ flat_map (fun seed =>
        let kept := 1 + number seed 127 in
        [(some_nanos (next_seed seed), kept, kept + 1 + number (next_seed (seed + 1)) 300);
         (some_nanos (next_seed seed), 1, 2 + number (next_seed (seed + 1)) 4194303)])
      (seeds 150 4)).

Set Printing Width 100000.
Set Printing Depth 100000000.
Eval vm_compute in (101, exp_rows).
Eval vm_compute in (102, keep_rows).
Eval vm_compute in (103, map whole_case small_cases).
Eval vm_compute in (104, map (some_of_case 8) large_cases).
