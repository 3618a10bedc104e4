(* Proof that steps between successes are independent trials. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Lra Lia.
From Coppice Require Import constants statements laws rates symbols.
Import ListNotations.
Open Scope R_scope.

(* ---- programs whose draws have laws ---- *)

Fixpoint proper {A} (p : program A) : Prop :=
  match p with
  | Return _ => True
  | UniformBelow bound next => (0 < bound)%Z /\ forall i, proper (next i)
  | Bernoulli n d next => (0 <= n <= d)%Z /\ (0 < d)%Z /\ forall b, proper (next b)
  | Geometric n next => (0 <= n <= 2 ^ 32)%Z /\ forall g, proper (next g)
  end.

Lemma proper_then {A B} (p : program A) (k : A -> program B) :
  proper p -> (forall a, proper (k a)) -> proper (then_ p k).
Proof.
  intros P K. induction p; cbn [then_ proper] in *; [apply K| | |]; intuition.
Qed.

Lemma power_R q n : Q2R (power q n) = Q2R q ^ n.
Proof.
  induction n as [|n IH]; simpl; [exact RMicromega.Q2R_1|]. rewrite Q2R_mult, IH. reflexivity.
Qed.

Fixpoint sum_up (n : nat) (f : nat -> R) : R :=
  match n with O => 0 | S n => sum_up n f + f n end.

Lemma fold_sum q n h :
  expect (map (fun i => (i, power q (Z.to_nat i) * (1 - q))%Q) (below (Z.of_nat n))) h
  = sum_up n (fun i => Q2R q ^ i * (1 - Q2R q) * h (Z.of_nat i)).
Proof.
  unfold below. rewrite Nat2Z.id. induction n as [|n IH]; [reflexivity|].
  rewrite seq_S, !map_app, expect_app, IH. cbn [map expect sum_up].
  rewrite Q2R_mult, power_R, Q2R_minus, RMicromega.Q2R_1, Nat.add_0_l, Nat2Z.id. lra.
Qed.

Lemma expect_geometric numerator h : (0 <= numerator <= 2 ^ 32)%Z ->
  let r := IZR numerator / IZR (2 ^ 32) in
  expect (geometric_law numerator) (fun g => h (g / 2)%Z)
  = sum_up 62 (fun i => r ^ i * (1 - r) * h (Z.of_nat i)) + r ^ 62 * h 62%Z.
Proof.
  intros N r. unfold geometric_law. rewrite expect_bind.
  rewrite (expect_ext _ _ h).
  - unfold steps_law. rewrite expect_app. change kManySteps with (Z.of_nat 62). rewrite fold_sum.
    cbn [expect]. rewrite power_R, Nat2Z.id, fraction_R by reflexivity. fold r.
    change (Z.of_nat 62) with 62%Z. lra.
  - intro s. rewrite expect_bind, expect_bernoulli by reflexivity. rewrite !expect_certain.
    replace ((2 * s + 1) / 2)%Z with s by (apply Z.div_unique with 1%Z; lia).
    replace ((2 * s + 0) / 2)%Z with s by (apply Z.div_unique with 0%Z; lia).
    lra.
Qed.

Lemma sum_geometric r n : sum_up n (fun i => r ^ i * (1 - r) * 1) + r ^ n * 1 = 1.
Proof. induction n as [|n IH]; cbn [sum_up pow]; [lra|]. lra. Qed.

Lemma power_nonnegative q n : (0 <= q)%Q -> (0 <= power q n)%Q.
Proof.
  intro H. induction n as [|n IH]; cbn [power]; [discriminate|]. apply Qmult_le_0_compat; assumption.
Qed.

Lemma is_law_geometric numerator : (0 <= numerator <= 2 ^ 32)%Z -> is_law (geometric_law numerator).
Proof.
  intro N. apply is_law_of.
  - unfold geometric_law. apply nonnegative_bind.
    + assert (F : (0 <= fraction numerator (2 ^ 32))%Q) by (apply fraction_nonnegative; lia).
      assert (G : (0 <= 1 - fraction numerator (2 ^ 32))%Q).
      { unfold fraction, Qle, Qminus, Qplus, Qopp. cbn [Qnum Qden]. lia. }
      intros a w I. unfold steps_law in I. apply in_app_or in I. destruct I as [I|[E|[]]].
      * apply in_map_iff in I. destruct I as [j [E _]].
        apply (f_equal snd) in E. cbn [snd] in E. rewrite <- E.
        apply Qmult_le_0_compat; [apply power_nonnegative, F|exact G].
      * apply (f_equal snd) in E. cbn [snd] in E. rewrite <- E. apply power_nonnegative, F.
    + intro s. apply nonnegative_bind; [apply is_law_bernoulli; [lia|reflexivity]|].
      intro. apply is_law_certain.
  - rewrite (expect_geometric numerator (fun _ => 1) N). apply sum_geometric.
Qed.

Lemma is_law_proper {A} (p : program A) : proper p -> is_law (law_of p).
Proof.
  induction p; cbn [proper law_of]; intro P.
  - apply is_law_certain.
  - apply is_law_bind; [apply is_law_uniform, P|]. intro. apply H, P.
  - apply is_law_bind; [apply is_law_bernoulli; apply P|]. intro. apply H, P.
  - apply is_law_bind; [apply is_law_geometric, P|]. intro. apply H, P.
Qed.

Lemma expect_ext_in {A} (l : law A) f g :
  (forall a w, In (a, w) l -> f a = g a) -> expect l f = expect l g.
Proof.
  intro H. induction l as [|[a w] l IH]; simpl; [reflexivity|].
  rewrite (H a w (or_introl eq_refl)), IH; [reflexivity|].
  intros b v I. exact (H b v (or_intror I)).
Qed.

Lemma in_bind {A B} (l : law A) (next : A -> law B) b w :
  In (b, w) (bind l next) -> exists a v u, In (a, v) l /\ In (b, u) (next a).
Proof.
  induction l as [|[a v] l IH]; simpl; [intros []|]. intro I. apply in_app_or in I. destruct I as [I|I].
  - unfold scale in I. apply in_map_iff in I. destruct I as [[c u] [E J]]. inversion E. subst.
    exists a, v, u. split; [left; reflexivity|exact J].
  - destruct (IH I) as [c [x [u [J K]]]]. exists c, x, u. split; [right; exact J|exact K].
Qed.

Lemma geometric_support numerator g w : In (g, w) (geometric_law numerator) -> (0 <= g / 2)%Z.
Proof.
  unfold geometric_law. intro I. apply in_bind in I. destruct I as [s [v [u [J K]]]].
  assert (S : (0 <= s)%Z).
  { unfold steps_law in J. apply in_app_or in J. destruct J as [J|[E|[]]].
    - apply in_map_iff in J. destruct J as [i [E M]]. apply (f_equal fst) in E. cbn [fst] in E. subst i. apply in_below in M. lia.
    - apply (f_equal fst) in E. cbn [fst] in E. subst s. discriminate. }
  apply in_bind in K. destruct K as [b [x [y [_ K]]]]. destruct K as [E|[]].
  apply (f_equal fst) in E. cbn [fst] in E. rewrite <- E.
  apply Z.div_pos; [|lia]. destruct b; lia.
Qed.

(* ---- steps between successes are independent trials ---- *)

Section Trials.
Variable failures : Z.
Hypothesis failures_range : (0 <= failures <= 2 ^ 32)%Z.
Let r := IZR failures / IZR (2 ^ 32).

(* The expectation of f over the successes of n further trials from `position` on. *)
Fixpoint flips (f : list Z -> R) (n : nat) (position : Z) (hits : list Z) : R :=
  match n with
  | O => f hits
  | S n => (1 - r) * flips f n (position + 1) (hits ++ [position])
           + r * flips f n (position + 1) hits
  end.

Lemma flips_by_steps f m position hits : forall n,
  sum_up n (fun i => r ^ i * (1 - r) *
    (if (m <=? i)%nat then f hits
     else flips f (m - S i) (position + Z.of_nat i + 1) (hits ++ [(position + Z.of_nat i)%Z])))
  + r ^ n * flips f (m - n) (position + Z.of_nat n) hits = flips f m position hits.
Proof.
  induction n as [|n IH]; cbn [sum_up pow].
  - rewrite Nat.sub_0_r, Z.add_0_r. lra.
  - rewrite <- IH.
    assert (E : flips f (m - n) (position + Z.of_nat n) hits =
      (1 - r) * (if (m <=? n)%nat then f hits
        else flips f (m - S n) (position + Z.of_nat n + 1) (hits ++ [(position + Z.of_nat n)%Z]))
      + r * flips f (m - S n) (position + Z.of_nat (S n)) hits).
    { destruct (Nat.leb_spec m n) as [L|L].
      - replace (m - n)%nat with O by lia. replace (m - S n)%nat with O by lia. cbn [flips]. lra.
      - replace (m - n)%nat with (S (m - S n)) by lia. cbn [flips].
        replace (position + Z.of_nat (S n))%Z with (position + Z.of_nat n + 1)%Z by lia. reflexivity. }
    rewrite E. lra.
Qed.

Lemma one_draw f trials position hits (h : Z -> R) :
  let m := Z.to_nat (trials - position) in
  (forall s, (0 <= s)%Z -> (trials <= position + s)%Z -> h s = f hits) ->
  (forall s, (0 <= s < 62)%Z -> (position + s < trials)%Z ->
     h s = flips f (Z.to_nat (trials - (position + s + 1))) (position + s + 1) (hits ++ [(position + s)%Z])) ->
  ((position + 62 < trials)%Z -> h 62%Z = flips f (Z.to_nat (trials - (position + 62))) (position + 62) hits) ->
  expect (geometric_law failures) (fun g => h (g / 2)%Z) = flips f m position hits.
Proof.
  intros m Over Hit Many. rewrite (expect_geometric failures h failures_range). fold r.
  rewrite <- (flips_by_steps f m position hits 62). f_equal.
  - assert (G : forall n, (n <= 62)%nat ->
      sum_up n (fun i => r ^ i * (1 - r) * h (Z.of_nat i)) = sum_up n (fun i => r ^ i * (1 - r) *
        (if (m <=? i)%nat then f hits
         else flips f (m - S i) (position + Z.of_nat i + 1) (hits ++ [(position + Z.of_nat i)%Z])))).
    { induction n as [|n IH]; intro L; cbn [sum_up]; [reflexivity|]. rewrite IH by lia. f_equal. f_equal.
      destruct (Nat.leb_spec m n) as [M|M].
      - apply Over; unfold m in *; lia.
      - rewrite Hit by (unfold m in *; lia). f_equal. unfold m. lia. }
    apply G. lia.
  - f_equal. destruct (Z.le_gt_cases trials (position + 62)) as [L|L].
    + rewrite Over by lia. replace (m - 62)%nat with O by (unfold m; lia). reflexivity.
    + rewrite Many by lia. f_equal. unfold m. lia.
Qed.

Lemma expect_successes f trials : (0 <= trials)%Z -> forall rounds position hits,
  (Z.to_nat (trials - position) <= rounds)%nat ->
  expect (law_of (successes rounds failures trials position hits)) f
  = flips f (Z.to_nat (trials - position)) position hits.
Proof.
  intro T. assert (B : (1 <= batch_size failures trials)%nat).
  { unfold batch_size. assert (0 <= trials * (2 ^ 32 - failures) / 2 ^ 32)%Z by (apply Z.div_pos; nia). lia. }
  induction rounds as [|rounds IH]; intros position hits L; cbn [successes].
  - replace (Z.to_nat (trials - position)) with O by lia. cbn [law_of flips]. apply expect_certain.
  - rewrite expect_then.
    set (go := fun draws => let '(is_done, position, hits) := walk trials draws position hits in
      if is_done then Return hits else successes rounds failures trials position hits).
    assert (G : forall count position hits, (Z.to_nat (trials - position) <= rounds + count)%nat ->
      expect (law_of (geometric_batch count failures)) (fun draws =>
        expect (law_of (let '(is_done, position, hits) := walk trials draws position hits in
          if is_done then Return hits else successes rounds failures trials position hits)) f)
      = flips f (Z.to_nat (trials - position)) position hits).
    { clear go L position hits. induction count as [|count IHc]; intros position hits L; cbn [geometric_batch].
      - cbn [law_of]. rewrite expect_certain. cbn [walk]. apply IH. lia.
      - cbn [law_of]. rewrite expect_bind.
        set (h := fun s =>
          if (trials <=? position + s)%Z then f hits
          else if (s =? kManySteps)%Z then flips f (Z.to_nat (trials - (position + s))) (position + s) hits
          else flips f (Z.to_nat (trials - (position + s + 1))) (position + s + 1) (hits ++ [(position + s)%Z])).
        rewrite (expect_ext_in _ _ (fun g => h (g / 2)%Z)).
        + apply one_draw; unfold h; intros.
          * destruct (Z.leb_spec trials (position + s)); [reflexivity|lia].
          * destruct (Z.leb_spec trials (position + s)); [lia|].
            destruct (Z.eqb_spec s kManySteps) as [E|E]; [unfold kManySteps in E; lia|reflexivity].
          * destruct (Z.leb_spec trials (position + 62)); [lia|]. reflexivity.
        + intros g w I. assert (P : (0 <= g / 2)%Z) by (apply (geometric_support failures g w I)).
          rewrite expect_then. cbn [walk law_of].
          rewrite (expect_ext _ _ (fun draws => expect (law_of (
            let '(is_done, position, hits) := walk trials (g :: draws) position hits in
            if is_done then Return hits else successes rounds failures trials position hits)) f))
            by (intro; rewrite expect_certain; reflexivity).
          cbn [walk]. unfold h. destruct (Z.leb_spec trials (position + g / 2)).
          * rewrite (expect_ext _ _ (fun _ => f hits)) by (intro; cbn [law_of]; apply expect_certain).
            rewrite expect_constant, law_total; [lra|]. apply is_law_proper.
            clear -failures_range. induction count; cbn [geometric_batch proper]; [constructor|].
            split; [exact failures_range|]. intro. apply proper_then; [assumption|]. intro. constructor.
          * destruct (g / 2 =? kManySteps)%Z eqn:E.
            -- apply Z.eqb_eq in E. apply IHc. unfold kManySteps in E. lia.
            -- apply IHc. lia. }
    apply G. lia.
Qed.
End Trials.
