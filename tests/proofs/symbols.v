(* Proofs about draws, and about mechanisms that send a symbol. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Lra Lia.
From Coppice Require Import constants statements laws rates.
Import ListNotations.
Open Scope R_scope.

(* ---- draws ---- *)

Lemma expect_then {A B} (p : program A) (k : A -> program B) f :
  expect (law_of (then_ p k)) f = expect (law_of p) (fun a => expect (law_of (k a)) f).
Proof.
  induction p; simpl then_; cbn [law_of]; rewrite ?expect_certain, ?expect_bind; [reflexivity| | |];
    apply expect_ext; intro; auto.
Qed.

Lemma fraction_R n d : (0 < d)%Z -> Q2R (fraction n d) = IZR n / IZR d.
Proof.
  intro D. unfold fraction, Q2R. simpl. rewrite Z2Pos.id by exact D. reflexivity.
Qed.

Lemma fraction_nonnegative n d : (0 <= n)%Z -> (0 <= fraction n d)%Q.
Proof. intro N. unfold fraction, Qle. simpl. lia. Qed.

Lemma in_below i n : In i (below n) <-> (0 <= i < n)%Z.
Proof.
  unfold below. rewrite in_map_iff. split.
  - intros [j [E I]]. apply in_seq in I. lia.
  - intro H. exists (Z.to_nat i). rewrite in_seq. lia.
Qed.

Lemma expect_equal_weights (l : list Z) w f :
  expect (map (fun i => (i, w)) l) f = Q2R w * fold_right (fun i s => f i + s) 0 l.
Proof. induction l as [|i l IH]; simpl; [lra|]. rewrite IH. lra. Qed.

Lemma sum_of_ones (l : list Z) : fold_right (fun _ s => 1 + s) 0 l = INR (length l).
Proof. induction l as [|i l IH]; [reflexivity|]. simpl length. rewrite S_INR. simpl. rewrite IH. lra. Qed.

Lemma length_below n : (0 <= n)%Z -> INR (length (below n)) = IZR n.
Proof.
  intro N. unfold below. rewrite map_length, seq_length, INR_IZR_INZ, Z2Nat.id by exact N. reflexivity.
Qed.

Lemma is_law_uniform bound : (0 < bound)%Z -> is_law (uniform_law bound).
Proof.
  intro B. apply is_law_of.
  - intros i w I. unfold uniform_law in I. apply in_map_iff in I. destruct I as [j [E _]].
    inversion E. apply fraction_nonnegative. lia.
  - unfold uniform_law. rewrite expect_equal_weights, sum_of_ones, length_below, fraction_R by lia.
    assert (0 < IZR bound) by (apply IZR_lt, B). field. lra.
Qed.

Lemma expect_bernoulli n d f : (0 < d)%Z ->
  expect (bernoulli_law n d) f = IZR n / IZR d * f true + (1 - IZR n / IZR d) * f false.
Proof.
  intro D. unfold bernoulli_law. cbn [expect]. rewrite !fraction_R, minus_IZR by exact D.
  assert (0 < IZR d) by (apply IZR_lt, D). field. lra.
Qed.

Lemma is_law_bernoulli n d : (0 <= n <= d)%Z -> (0 < d)%Z -> is_law (bernoulli_law n d).
Proof.
  intros N D. apply is_law_of.
  - intros b w [E|[E|[]]]; inversion E; apply fraction_nonnegative; lia.
  - rewrite expect_bernoulli by exact D. lra.
Qed.

(* One outcome of a uniform draw has its share of any expectation. *)
Lemma uniform_share bound i f : (0 <= i < bound)%Z -> (forall j, 0 <= f j) ->
  f i / IZR bound <= expect (uniform_law bound) f.
Proof.
  intros I F. unfold uniform_law. rewrite expect_equal_weights, fraction_R by lia.
  assert (S : f i <= fold_right (fun j s => f j + s) 0 (below bound)).
  { apply in_below in I. induction (below bound) as [|j l IH]; [destruct I|]. simpl.
    assert (0 <= fold_right (fun j s => f j + s) 0 l)
      by (clear -F; induction l as [|k l IH]; simpl; [lra|]; specialize (F k); lra).
    destruct I as [E|I]; [subst; lra|]. specialize (IH I). specialize (F j). lra. }
  assert (0 < IZR bound) by (apply IZR_lt; lia).
  unfold Rdiv. rewrite Rmult_1_l, Rmult_comm. apply Rmult_le_compat_l; [|exact S].
  left. apply Rinv_0_lt_compat. assumption.
Qed.

(* ---- randomized response ---- *)

(* What KeepRate() allows, as a ratio of probabilities. *)
Lemma keep_rate_ratio nanos kept symbols :
  (0 < nanos)%Z -> (0 < kept)%Z -> (0 < symbols)%Z ->
  let k := IZR (keep_rate nanos kept symbols) / IZR kKeepAlways in
  0 <= k <= 1 /\ IZR symbols * k <= IZR kept * (exp (epsilon_of nanos) - 1) * (1 - k).
Proof.
  intros N Kp Sy k.
  destruct (keep_rate_is_largest_holds nanos kept symbols N Kp Sy) as [Bounds [Allowed _]].
  destruct (exp_lower_bound_is_below_holds nanos 1%Z N) as [E L]; [reflexivity|].
  set (K := keep_rate nanos kept symbols) in *. set (e := exp_lower_bound nanos 1) in *.
  assert (A : 0 < IZR kKeepAlways) by (apply IZR_lt; reflexivity).
  assert (One : IZR (2 ^ kExpBits) = (2 ^ Z.to_nat kExpBits)%R) by (rewrite pow_IZR; reflexivity).
  assert (P : 0 < IZR (2 ^ kExpBits)) by (apply IZR_lt; reflexivity).
  rewrite <- One in L. replace (epsilon_of nanos / 1) with (epsilon_of nanos) in L by field.
  apply IZR_le in Allowed. rewrite !mult_IZR, !minus_IZR in Allowed.
  assert (K0 : 0 <= IZR K) by (apply IZR_le; lia).
  assert (K1 : IZR K <= IZR kKeepAlways) by (apply IZR_le; lia).
  assert (0 < IZR kept) by (apply IZR_lt; lia).
  assert (KA : IZR K = k * IZR kKeepAlways).
  { unfold k, Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r; [reflexivity|lra]. }
  set (a := IZR kKeepAlways) in *. set (one := IZR (2 ^ kExpBits)) in *.
  set (c := exp (epsilon_of nanos)) in *. clearbody a one c.
  assert (B : 0 <= k <= 1).
  { split; [|apply Rmult_le_reg_r with a; nra].
    unfold k. apply Rmult_le_pos; [exact K0|left; apply Rinv_0_lt_compat, A]. }
  split; [exact B|]. clearbody k. rewrite KA in Allowed.
  apply Rmult_le_reg_r with (a * one); [nra|].
  replace (IZR kept * (c - 1) * (1 - k) * (a * one))
    with (IZR kept * (one * c - one) * (a * (1 - k))) by ring.
  replace (IZR symbols * k * (a * one)) with (IZR symbols * (k * a) * one) by ring.
  apply Rle_trans with (1 := Allowed).
  replace (a - k * a) with (a * (1 - k)) by ring.
  apply Rmult_le_compat_r; [nra|]. apply Rmult_le_compat_l; lra.
Qed.

Lemma expect_symbol nanos symbols symbol f : (0 < symbols)%Z ->
  let k := IZR (keep_rate nanos 1 symbols) / IZR kKeepAlways in
  expect (law_of (draw_symbol (keep_rate nanos 1 symbols) symbols symbol)) f
  = k * f symbol + (1 - k) * expect (uniform_law symbols) f.
Proof.
  intros S k. unfold draw_symbol. cbn [law_of]. rewrite expect_bind, expect_bernoulli by reflexivity.
  cbn [law_of]. rewrite !expect_bind. fold k. f_equal; f_equal.
  - rewrite (expect_ext _ _ (fun _ => f symbol)) by (intro; cbn [law_of]; apply expect_certain).
    rewrite expect_constant, law_total; [lra|apply is_law_uniform, S].
  - apply expect_ext. intro. cbn [law_of]. apply expect_certain.
Qed.

Lemma draw_symbol_dominated nanos symbols a b :
  (0 < nanos)%Z -> (0 <= a < symbols)%Z -> (0 <= b < symbols)%Z ->
  dominated (exp (epsilon_of nanos))
    (law_of (draw_symbol (keep_rate nanos 1 symbols) symbols a))
    (law_of (draw_symbol (keep_rate nanos 1 symbols) symbols b)).
Proof.
  intros N A B f F. rewrite !expect_symbol by lia.
  destruct (keep_rate_ratio nanos 1%Z symbols N) as [K R]; [lia|lia|].
  set (k := IZR (keep_rate nanos 1 symbols) / IZR kKeepAlways) in *. clearbody k.
  pose proof (uniform_share symbols a f A F) as Share.
  set (u := expect (uniform_law symbols) f) in *. clearbody u.
  assert (C : 1 <= exp (epsilon_of nanos)).
  { apply exp_at_least_one. unfold epsilon_of. apply Rmult_le_pos; [apply IZR_le; lia|].
    left. apply Rinv_0_lt_compat, IZR_lt. reflexivity. }
  set (c := exp (epsilon_of nanos)) in *. clearbody c.
  assert (0 < IZR symbols) by (apply IZR_lt; lia).
  assert (FA : f a <= u * IZR symbols).
  { apply Rmult_le_reg_r with (/ IZR symbols); [apply Rinv_0_lt_compat; assumption|].
    replace (u * IZR symbols * / IZR symbols) with u by (field; lra). exact Share. }
  pose proof (F a) as Fa. pose proof (F b) as Fb.
  assert (0 <= u) by nra.
  assert (k * f a <= (c - 1) * (1 - k) * u).
  { apply Rle_trans with (k * (u * IZR symbols)); [apply Rmult_le_compat_l; lra|].
    replace (k * (u * IZR symbols)) with (IZR symbols * k * u) by ring.
    apply Rmult_le_compat_r; lra. }
  assert (0 <= c * (k * f b)) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]).
  lra.
Qed.

Lemma is_law_draw_symbol nanos symbols symbol :
  (0 < nanos)%Z -> (0 < symbols)%Z ->
  is_law (law_of (draw_symbol (keep_rate nanos 1 symbols) symbols symbol)).
Proof.
  intros N Sy. unfold draw_symbol. cbn [law_of].
  destruct (keep_rate_is_largest_holds nanos 1%Z symbols N) as [B _]; [lia|lia|].
  apply is_law_bind; [apply is_law_bernoulli; [lia|reflexivity]|].
  intro. cbn [law_of]. apply is_law_bind; [apply is_law_uniform; lia|]. intro. apply is_law_certain.
Qed.

Lemma symbol_response_dominated nanos symbols a b :
  (0 < nanos)%Z -> (0 <= a < symbols)%Z -> (0 <= b < symbols)%Z ->
  dominated (exp (epsilon_of nanos))
    (law_of (symbol_response nanos symbols a)) (law_of (symbol_response nanos symbols b)).
Proof.
  intros N A B f F. unfold symbol_response. cbv zeta. rewrite !expect_then.
  apply draw_symbol_dominated; try assumption. intro s. cbn [law_of]. rewrite expect_certain. apply F.
Qed.

(* A payload in bytes is a function of the symbol. *)
Lemma is_law_symbol_response nanos symbols symbol :
  (0 < nanos)%Z -> (0 < symbols)%Z -> is_law (law_of (symbol_response nanos symbols symbol)).
Proof.
  intros N Sy. unfold symbol_response, draw_symbol. cbv zeta. cbn [then_ law_of].
  destruct (keep_rate_is_largest_holds nanos 1%Z symbols N) as [B _]; [lia|lia|].
  apply is_law_bind; [apply is_law_bernoulli; [lia|reflexivity]|].
  intro. cbn [then_ law_of]. apply is_law_bind; [apply is_law_uniform; lia|]. intro. apply is_law_certain.
Qed.

(* Any map from a column and a row to the symbols gives a private mechanism. *)
Lemma symbols_private (allowed : Z -> Prop) (m : mechanism) (symbols : Z -> Z -> Z -> Z)
    (symbol : Z -> Z -> Z -> Z -> value -> Z) :
  (forall nanos leaves classes column v, m nanos leaves classes column v =
     symbol_response nanos (symbols nanos leaves classes) (symbol nanos leaves classes column v)) ->
  (forall nanos leaves classes column v, (0 < nanos)%Z -> (2 <= classes)%Z -> allowed classes ->
     in_domain leaves classes v ->
     (0 <= symbol nanos leaves classes column v < symbols nanos leaves classes)%Z) ->
  locally_private allowed m.
Proof.
  intros M S nanos leaves classes column N L C Al. split.
  - intros v V. rewrite M. specialize (S nanos leaves classes column v N C Al V).
    apply is_law_symbol_response; lia.
  - apply private_dominated. intros v w [V W]. rewrite !M.
    split; apply symbol_response_dominated; try exact N; apply S; assumption.
Qed.

Open Scope Z_scope.

Lemma cell_in_range leaves classes v :
  in_domain leaves classes v -> 0 <= cell_of classes v < leaves * classes.
Proof. unfold in_domain, cell_of. intros [L C]. nia. Qed.

Theorem direct_is_private_holds : direct_is_private.
Proof.
  apply (symbols_private _ _ (fun _ leaves classes => leaves * classes)
           (fun _ _ classes _ v => cell_of classes v)); [reflexivity|].
  intros. apply cell_in_range. assumption.
Qed.

Theorem signed_hadamard_is_private_holds : signed_hadamard_is_private.
Proof.
  apply (symbols_private _ _ (fun _ _ _ => 2) (fun _ _ _ column v =>
    if xorb (cell_of 2 v mod 2 =? 0) (is_negative_entry column (cell_of 2 v / 2)) then 1 else 0));
    [reflexivity|].
  intros. destruct (xorb _ _); lia.
Qed.

Lemma double_blocks_positive rounds gain most : forall blocks,
  0 < blocks -> 0 < double_blocks rounds gain most blocks.
Proof.
  induction rounds as [|rounds IH]; intros blocks B; cbn [double_blocks]; [exact B|].
  destruct (_ && _)%bool; [apply IH; lia|exact B].
Qed.

Theorem hadamard_response_is_private_holds : hadamard_response_is_private.
Proof.
  apply (symbols_private _ _ (fun nanos leaves classes => 2 * blocks_for nanos (leaves * classes))
    (fun nanos leaves classes column v =>
       2 * (cell_of classes v mod blocks_for nanos (leaves * classes)) +
       if is_negative_entry column (cell_of classes v / blocks_for nanos (leaves * classes))
       then 1 else 0)); [reflexivity|].
  intros. assert (0 < blocks_for nanos (leaves * classes))
    by (apply double_blocks_positive; lia).
  pose proof (Z.mod_pos_bound (cell_of classes v) (blocks_for nanos (leaves * classes)) H3).
  destruct (is_negative_entry _ _); lia.
Qed.

Lemma choose_prime_positive nanos cells : 2 <= choose_prime nanos cells.
Proof.
  unfold choose_prime.
  match goal with |- context [fold_left ?step _ _] => set (F := step) end.
  assert (H : forall l least best, 2 <= best -> 2 <= snd (fold_left F l (least, best))).
  { induction l as [|p l IH]; intros least best B; cbn [fold_left]; [exact B|].
    unfold F at 2. cbv beta zeta.
    destruct (Z.ltb_spec p 2) as [P|P]; cbn [orb]; [apply IH, B|].
    destruct (_ || _)%bool; [apply IH, B|]. destruct (_ <=? _); apply IH; assumption. }
  apply H. lia.
Qed.

Theorem local_hashing_is_private_holds : local_hashing_is_private.
Proof.
  apply (symbols_private _ _ (fun nanos leaves classes => choose_prime nanos (leaves * classes))
    (fun nanos leaves classes column v =>
       inner_product 64 (choose_prime nanos (leaves * classes)) (column + 1) (cell_of classes v)
       mod choose_prime nanos (leaves * classes))); [reflexivity|].
  intros. pose proof (choose_prime_positive nanos (leaves * classes)). apply Z.mod_pos_bound. lia.
Qed.
