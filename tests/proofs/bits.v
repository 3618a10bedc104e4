(* Proofs about vectors of bits. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Lra Lia.
From Coppice Require Import constants statements laws rates symbols steps.
Import ListNotations.
Open Scope R_scope.

Definition without (c : Z) (h : list Z) : list Z := filter (fun i => negb (i =? c)%Z) h.

Lemma without_app c h i : i <> c -> without c (h ++ [i]) = without c h ++ [i].
Proof.
  intro D. unfold without. rewrite filter_app. simpl.
  destruct (Z.eqb_spec i c); [contradiction|reflexivity].
Qed.

Lemma without_same c h : without c (h ++ [c]) = without c h.
Proof. unfold without. rewrite filter_app. simpl. rewrite Z.eqb_refl. apply app_nil_r. Qed.

(* Lists with the same members give the same payload. *)
Definition same (h k : list Z) : Prop := forall i, existsb (Z.eqb i) h = existsb (Z.eqb i) k.

Lemma payload_same bits h k : same h k -> bit_payload bits h = bit_payload bits k.
Proof.
  intro S. unfold bit_payload. apply map_ext. intro byte.
  induction (below 8) as [|b l IH]; [reflexivity|]. cbn [fold_right]. rewrite S, IH. reflexivity.
Qed.

Fixpoint bits (rate : Z -> R) (F : list Z -> R) (n : nat) (position : Z) (h : list Z) : R :=
  match n with
  | O => F h
  | S n => rate position * bits rate F n (position + 1) (h ++ [position])
           + (1 - rate position) * bits rate F n (position + 1) h
  end.

Lemma bits_same rate F : (forall h k, same h k -> F h = F k) ->
  forall n position h k, same h k -> bits rate F n position h = bits rate F n position k.
Proof.
  intro HF. induction n as [|n IH]; intros position h k S; cbn [bits]; [apply HF, S|].
  rewrite (IH (position + 1)%Z h k S), (IH (position + 1)%Z (h ++ [position]) (k ++ [position])); [reflexivity|].
  intro i. rewrite !existsb_app, S. reflexivity.
Qed.

Lemma bits_nonnegative rate F : (forall i, 0 <= rate i <= 1) -> (forall h, 0 <= F h) ->
  forall n position h, 0 <= bits rate F n position h.
Proof.
  intros B HF. induction n as [|n IH]; intros position h; cbn [bits]; [apply HF|].
  specialize (B position).
  assert (0 <= rate position * bits rate F n (position + 1) (h ++ [position]))
    by (apply Rmult_le_pos; [lra|apply IH]).
  assert (0 <= (1 - rate position) * bits rate F n (position + 1) h) by (apply Rmult_le_pos; [lra|apply IH]).
  lra.
Qed.

Section Cell.
Variables (failures c : Z) (p : R) (F : list Z -> R).
Let r := IZR failures / IZR (2 ^ 32).
Hypothesis F_same : forall h k, same h k -> F h = F k.
Definition rate (p r : R) (c i : Z) : R := if (i =? c)%Z then p else 1 - r.
Let g h := p * F (c :: without c h) + (1 - p) * F (without c h).

Lemma after_cell n : forall position h, (c < position)%Z ->
  flips failures g n position h
  = p * bits (rate p r c) F n position (c :: without c h) + (1 - p) * bits (rate p r c) F n position (without c h).
Proof.
  induction n as [|n IH]; intros position h L; cbn [flips bits]; [reflexivity|]. fold r.
  rewrite !IH by lia. rewrite without_app by lia.
  assert (E : rate p r c position = 1 - r) by (unfold rate; destruct (Z.eqb_spec position c); [lia|reflexivity]).
  rewrite E. cbn [app]. ring.
Qed.

Lemma from_start n : forall position h, (position <= c < position + Z.of_nat n)%Z ->
  without c h = h -> flips failures g n position h = bits (rate p r c) F n position h.
Proof.
  induction n as [|n IH]; intros position h L W; [lia|]. cbn [flips bits]. fold r.
  destruct (Z.eq_dec position c) as [E|D].
  - subst position. rewrite !after_cell by lia. rewrite without_same, W.
    assert (R : rate p r c c = p) by (unfold rate; rewrite Z.eqb_refl; reflexivity). rewrite R.
    rewrite (bits_same (rate p r c) F F_same n (c + 1) (c :: h) (h ++ [c])); [ring|].
    intro i. rewrite existsb_app. cbn [existsb]. rewrite orb_false_r, orb_comm. reflexivity.
  - rewrite !IH; try lia; try exact W; [|rewrite without_app by exact D; rewrite W; reflexivity].
    assert (R : rate p r c position = 1 - r)
      by (unfold rate; destruct (Z.eqb_spec position c); [contradiction|reflexivity]).
    rewrite R. ring.
Qed.
End Cell.

Lemma expect_unary p q size cell f : (0 < q < 2 ^ 32)%Z -> (0 <= cell < size)%Z ->
  expect (law_of (unary p q size cell)) f
  = bits (rate (IZR p / IZR (2 ^ 32)) (IZR (2 ^ 32 - q) / IZR (2 ^ 32)) cell)
      (fun h => f (bit_payload size h)) (Z.to_nat size) 0 [].
Proof.
  intros Q C. unfold unary. rewrite expect_then.
  rewrite (expect_ext _ _ (fun h =>
    IZR p / IZR (2 ^ 32) * f (bit_payload size (cell :: without cell h))
    + (1 - IZR p / IZR (2 ^ 32)) * f (bit_payload size (without cell h)))).
  - rewrite expect_successes by lia. rewrite Z.sub_0_r.
    apply (from_start (2 ^ 32 - q) cell (IZR p / IZR (2 ^ 32)) (fun h => f (bit_payload size h))).
    + intros h k S. f_equal. apply payload_same, S.
    + lia.
    + reflexivity.
  - intro h. cbv zeta. cbn [law_of]. rewrite expect_bind, expect_bernoulli by reflexivity.
    cbn [law_of]. rewrite !expect_certain. reflexivity.
Qed.

Lemma weigh s t k u x y X Y : 0 <= u -> 0 <= X -> 0 <= Y -> 0 <= s <= 1 ->
  x <= u * X -> y <= u * Y -> s <= k * t -> 1 - s <= k * (1 - t) ->
  s * x + (1 - s) * y <= (k * u) * (t * X + (1 - t) * Y).
Proof.
  intros U HX HY S Hx Hy K L.
  assert (s * x <= s * (u * X)) by (apply Rmult_le_compat_l; lra).
  assert ((1 - s) * y <= (1 - s) * (u * Y)) by (apply Rmult_le_compat_l; lra).
  assert (0 <= u * X) by (apply Rmult_le_pos; assumption).
  assert (0 <= u * Y) by (apply Rmult_le_pos; assumption).
  assert (s * (u * X) <= k * t * (u * X)) by (apply Rmult_le_compat_r; assumption).
  assert ((1 - s) * (u * Y) <= k * (1 - t) * (u * Y)) by (apply Rmult_le_compat_r; assumption).
  lra.
Qed.

Section Compare.
Variables (p r k l : R) (a b : Z) (F : list Z -> R).
Hypothesis P : 0 <= p <= 1.
Hypothesis Rr : 0 <= r <= 1.
Hypothesis Above : 1 - r <= p.
Hypothesis K : 1 <= k /\ p <= k * (1 - r).
Hypothesis L : 1 <= l /\ r <= l * (1 - p).
Hypothesis Different : a <> b.
Hypothesis HF : forall h, 0 <= F h.

Let factor position := (if (position <=? a)%Z then k else 1) * (if (position <=? b)%Z then l else 1).

Lemma rate_range c i : 0 <= rate p r c i <= 1.
Proof. unfold rate. destruct (i =? c)%Z; lra. Qed.

Lemma factor_at_least_one position : 1 <= factor position.
Proof. unfold factor. destruct (position <=? a)%Z, (position <=? b)%Z; nra. Qed.

Lemma compare_bits n : forall position h,
  bits (rate p r a) F n position h <= factor position * bits (rate p r b) F n position h.
Proof.
  induction n as [|n IH]; intros position h; cbn [bits].
  - pose proof (factor_at_least_one position). specialize (HF h). nra.
  - pose proof (IH (position + 1)%Z (h ++ [position])) as I1. pose proof (IH (position + 1)%Z h) as I2.
    pose proof (bits_nonnegative (rate p r b) F (rate_range b) HF n (position + 1)%Z (h ++ [position])) as X.
    pose proof (bits_nonnegative (rate p r b) F (rate_range b) HF n (position + 1)%Z h) as Y.
    pose proof (factor_at_least_one (position + 1)%Z) as Fa.
    assert (E : exists m, factor position = m * factor (position + 1)%Z /\
      rate p r a position <= m * rate p r b position /\
      1 - rate p r a position <= m * (1 - rate p r b position)).
    { unfold factor, rate.
      destruct (Z.eqb_spec position a), (Z.eqb_spec position b); try lia.
      - exists k. destruct (Z.leb_spec position a), (Z.leb_spec position b), (Z.leb_spec (position + 1) a),
          (Z.leb_spec (position + 1) b); try lia; repeat split; try ring; nra.
      - exists l. destruct (Z.leb_spec position a), (Z.leb_spec position b), (Z.leb_spec (position + 1) a),
          (Z.leb_spec (position + 1) b); try lia; repeat split; try ring; nra.
      - exists 1. destruct (Z.leb_spec position a), (Z.leb_spec position b), (Z.leb_spec (position + 1) a),
          (Z.leb_spec (position + 1) b); try lia; repeat split; try ring; lra. }
    destruct E as [m [Em [E1 E2]]]. rewrite Em.
    apply weigh; try assumption; try lra; apply rate_range.
Qed.

Lemma compare_all n h : (0 <= a)%Z -> (0 <= b)%Z ->
  bits (rate p r a) F n 0 h <= k * l * bits (rate p r b) F n 0 h.
Proof.
  intros A B. pose proof (compare_bits n 0 h) as C. unfold factor in C.
  destruct (Z.leb_spec 0 a), (Z.leb_spec 0 b); try lia. exact C.
Qed.
End Compare.

Lemma unary_dominated p q c size a b : (0 < q <= p)%Z -> (p < 2 ^ 32)%Z ->
  (0 <= a < size)%Z -> (0 <= b < size)%Z ->
  IZR p * IZR (2 ^ 32 - q) <= c * (IZR q * IZR (2 ^ 32 - p)) ->
  dominated c (law_of (unary p q size a)) (law_of (unary p q size b)).
Proof.
  intros Q P A B C f HF. rewrite !expect_unary by lia.
  assert (T0 : 0 < IZR (2 ^ 32)) by (apply IZR_lt; reflexivity).
  assert (Q0 : 0 < IZR q) by (apply IZR_lt; lia).
  assert (PQ : IZR q <= IZR p) by (apply IZR_le; lia).
  assert (PT : IZR p < IZR (2 ^ 32)) by (apply IZR_lt; lia).
  rewrite minus_IZR in *. rewrite minus_IZR in C. set (t := IZR (2 ^ 32)) in *. clearbody t.
  set (x := IZR p) in *. set (y := IZR q) in *. clearbody x y.
  assert (Ep : 0 < x / t < 1).
  { split; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_lt_reg_r with t; [exact T0|].
    replace (x / t * t) with x by (field; lra). lra. }
  assert (Eq : 1 - (t - y) / t = y / t) by (field; lra).
  assert (Er : (t - y) / t = 1 - y / t) by (field; lra).
  assert (Ey : 0 < y / t <= x / t).
  { split; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, T0|exact PQ]. }
  assert (Cx : c >= x * (t - y) / (y * (t - x))).
  { apply Rle_ge. apply Rmult_le_reg_r with (y * (t - x)); [apply Rmult_lt_0_compat; lra|].
    replace (x * (t - y) / (y * (t - x)) * (y * (t - x))) with (x * (t - y)) by (field; lra). exact C. }
  assert (K1 : 1 <= x / y).
  { apply Rmult_le_reg_r with y; [exact Q0|]. replace (x / y * y) with x by (field; lra). lra. }
  assert (L1 : 1 <= (t - y) / (t - x)).
  { apply Rmult_le_reg_r with (t - x); [lra|]. replace ((t - y) / (t - x) * (t - x)) with (t - y) by (field; lra). lra. }
  set (G := fun h => f (bit_payload size h)). assert (HG : forall h, 0 <= G h) by (intro; apply HF).
  assert (Nn : 0 <= bits (rate (x / t) ((t - y) / t) b) G (Z.to_nat size) 0 []).
  { apply bits_nonnegative; [|exact HG]. intro i. unfold rate. rewrite Eq. destruct (i =? b)%Z; lra. }
  assert (KL : x / y * ((t - y) / (t - x)) <= c).
  { apply Rge_le in Cx. replace (x / y * ((t - y) / (t - x))) with (x * (t - y) / (y * (t - x))) by (field; lra).
    exact Cx. }
  destruct (Z.eq_dec a b) as [E|D].
  - subst b. assert (1 <= c) by nra. nra.
  - apply Rle_trans with (x / y * ((t - y) / (t - x)) * bits (rate (x / t) ((t - y) / t) b) G (Z.to_nat size) 0 []).
    + apply compare_all; try assumption; try lia; rewrite ?Eq; try (rewrite Er); try lra.
      * split; [exact K1|]. right. field. lra.
      * split; [exact L1|]. right. field. lra.
    + apply Rmult_le_compat_r; assumption.
Qed.

Lemma proper_unary p q size cell : (0 < q < 2 ^ 32)%Z -> (0 <= p <= 2 ^ 32)%Z -> proper (unary p q size cell).
Proof.
  intros Q P. unfold unary. apply proper_then.
  - generalize (S (Z.to_nat size)) as rounds. intro rounds. generalize 0%Z as position, (@nil Z) as h.
    induction rounds as [|rounds IH]; intros position h; cbn [successes]; [exact I|].
    apply proper_then.
    + induction (batch_size (2 ^ 32 - q) size); cbn [geometric_batch proper]; [exact I|].
      split; [lia|]. intro. apply proper_then; [assumption|]. intro. exact I.
    + intro draws. destruct (walk size draws position h) as [[[] at_] hits]; [exact I|apply IH].
  - intro h. cbv zeta. cbn [proper]. split; [exact P|]. split; [reflexivity|]. intro. exact I.
Qed.

Lemma unary_private (m : mechanism) (p q : Z -> Z) :
  (forall nanos leaves classes column v, m nanos leaves classes column v
     = unary (p nanos) (q nanos) (leaves * classes) (cell_of classes v)) ->
  (forall nanos, (0 < nanos)%Z -> (0 < q nanos <= p nanos)%Z /\ (p nanos < 2 ^ 32)%Z /\
     IZR (p nanos) * IZR (2 ^ 32 - q nanos)
     <= exp (epsilon_of nanos) * (IZR (q nanos) * IZR (2 ^ 32 - p nanos))) ->
  locally_private any_number m.
Proof.
  intros M H nanos leaves classes column N L C _. destruct (H nanos N) as [Q [P E]]. split.
  - intros v V. rewrite M. apply is_law_proper, proper_unary; lia.
  - apply private_dominated. intros v w [V W]. rewrite !M.
    apply cell_in_range in V. apply cell_in_range in W.
    split; apply unary_dominated; assumption.
Qed.

Lemma optimized_rates q c : (0 < q <= 2 ^ 31)%Z -> IZR (2 ^ 32 - q) / IZR q <= c ->
  (0 < q <= 2 ^ 31)%Z /\ (2 ^ 31 < 2 ^ 32)%Z /\
  IZR (2 ^ 31) * IZR (2 ^ 32 - q) <= c * (IZR q * IZR (2 ^ 32 - 2 ^ 31)).
Proof.
  intros A E. split; [exact A|]. split; [reflexivity|].
  assert (Q : 0 < IZR q) by (apply IZR_lt; lia).
  change (2 ^ 32 - 2 ^ 31)%Z with (2 ^ 31)%Z.
  assert (H : 0 < IZR (2 ^ 31)) by (apply IZR_lt; reflexivity).
  set (h := IZR (2 ^ 31)) in *. set (d := IZR (2 ^ 32 - q)) in *. clearbody h d.
  assert (D : d <= c * IZR q).
  { apply Rmult_le_reg_r with (/ IZR q); [apply Rinv_0_lt_compat; assumption|].
    replace (c * IZR q * / IZR q) with c by (field; lra). exact E. }
  replace (c * (IZR q * h)) with (h * (c * IZR q)) by ring. apply Rmult_le_compat_l; lra.
Qed.

Lemma symmetric_rates q e : (0 < q <= 2 ^ 31)%Z -> IZR (2 ^ 32 - q) / IZR q <= exp (e / 2) ->
  (0 < q <= 2 ^ 32 - q)%Z /\ (2 ^ 32 - q < 2 ^ 32)%Z /\
  IZR (2 ^ 32 - q) * IZR (2 ^ 32 - q) <= exp e * (IZR q * IZR (2 ^ 32 - (2 ^ 32 - q))).
Proof.
  intros A E. split; [lia|]. split; [lia|].
  replace (2 ^ 32 - (2 ^ 32 - q))%Z with q by lia.
  assert (Q : 0 < IZR q) by (apply IZR_lt; lia).
  assert (D0 : 0 <= IZR (2 ^ 32 - q)) by (apply IZR_le; lia).
  replace e with (e / 2 + e / 2) by field.
  rewrite exp_plus. set (c := exp (e / 2)) in *. clearbody c.
  set (d := IZR (2 ^ 32 - q)) in *. clearbody d.
  assert (D : d <= c * IZR q).
  { apply Rmult_le_reg_r with (/ IZR q); [apply Rinv_0_lt_compat; assumption|].
    replace (c * IZR q * / IZR q) with c by (field; lra). exact E. }
  replace (c * c * (IZR q * IZR q)) with ((c * IZR q) * (c * IZR q)) by ring.
  apply Rmult_le_compat; assumption.
Qed.

Theorem optimized_unary_is_private_holds : optimized_unary_is_private.
Proof.
  apply (unary_private optimized_unary (fun _ => 2 ^ 31)%Z (fun nanos => lie_rate nanos 1)); [reflexivity|].
  intros nanos N. destruct (lie_rate_is_enough_holds nanos 1%Z N eq_refl) as [A E].
  assert (One : forall x, x / 1 = x) by (intro; field). rewrite One in E.
  exact (optimized_rates (lie_rate nanos 1) _ A E).
Qed.

Theorem symmetric_unary_is_private_holds : symmetric_unary_is_private.
Proof.
  apply (unary_private symmetric_unary (fun nanos => 2 ^ 32 - lie_rate nanos 2)%Z (fun nanos => lie_rate nanos 2));
    [reflexivity|].
  intros nanos N. destruct (lie_rate_is_enough_holds nanos 2%Z N eq_refl) as [A E].
  exact (symmetric_rates (lie_rate nanos 2) _ A E).
Qed.
