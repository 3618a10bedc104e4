(* Proofs about numbers that are rounded to an end or a step, and about windows. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Lra Lia.
From Coppice Require Import constants statements laws rates symbols.
Import ListNotations.
Open Scope R_scope.

(* The two steps beside a number are weighed; a step that is beyond the end has no weight. *)
Lemma expect_rounded place steps f : (0 <= place <= kStep)%Z -> (0 < steps)%Z ->
  exists lower upper share, (0 <= lower <= steps)%Z /\ (0 <= upper <= steps)%Z /\ 0 <= share <= 1 /\
    expect (law_of (round_to_a_step place steps)) f = share * f upper + (1 - share) * f lower.
Proof.
  intros P S. unfold round_to_a_step. cbv zeta. cbn [law_of].
  rewrite expect_bind, expect_bernoulli by reflexivity. cbn [law_of]. rewrite !expect_certain, Z.add_0_r.
  set (exact := (place * steps)%Z).
  assert (K : (0 < kStep)%Z) by reflexivity.
  pose proof (Z.mod_pos_bound exact kStep K) as M. pose proof (Z.div_mod exact kStep) as D.
  assert (L : (0 <= exact / kStep <= steps)%Z).
  { split; [apply Z.div_pos; unfold exact; nia|].
    apply Z.div_le_upper_bound; [exact K|]. unfold exact. nia. }
  assert (KR : 0 < IZR kStep) by (apply IZR_lt, K).
  destruct (Z.eq_dec (exact mod kStep) 0) as [Z|Z].
  - exists (exact / kStep)%Z, (exact / kStep)%Z, 0. rewrite Z.
    split; [exact L|]. split; [exact L|]. split; [lra|]. unfold Rdiv. lra.
  - exists (exact / kStep)%Z, (exact / kStep + 1)%Z, (IZR (exact mod kStep) / IZR kStep).
    split; [exact L|]. split.
    + assert (exact / kStep < steps)%Z; [|lia].
      apply Z.div_lt_upper_bound; [exact K|].
      assert (exact <> kStep * steps)%Z.
      { intro E. apply Z. rewrite E, Z.mul_comm. apply Z.mod_mul. lia. }
      unfold exact in *. nia.
    + split; [|reflexivity]. split.
      * apply Rmult_le_pos; [apply IZR_le; lia|left; apply Rinv_0_lt_compat, KR].
      * apply Rmult_le_reg_r with (IZR kStep); [exact KR|]. unfold Rdiv.
        rewrite Rmult_assoc, Rinv_l, Rmult_1_l, Rmult_1_r by lra. apply IZR_le. lia.
Qed.

Lemma nonnegative_rounded place steps : nonnegative (law_of (round_to_a_step place steps)).
Proof.
  unfold round_to_a_step. cbv zeta. cbn [law_of].
  apply nonnegative_bind; [|intro; apply is_law_certain].
  assert (K : (0 < kStep)%Z) by reflexivity. pose proof (Z.mod_pos_bound (place * steps) kStep K).
  apply is_law_bernoulli; [lia|exact K].
Qed.

Theorem numbers_are_private_hold : numbers_are_private.
Proof.
  unfold numbers_are_private. intros report leaves classes epsilon L H.
  rewrite private_dominated in H. apply private_dominated.
  assert (Mix : forall x, input_in leaves classes x -> forall f, exists a b share,
     in_domain leaves classes a /\ in_domain leaves classes b /\ 0 <= share <= 1 /\
     expect (law_of (with_numbers report x)) f
     = share * expect (law_of (report a)) f + (1 - share) * expect (law_of (report b)) f).
  { intros [v|l place] X f; simpl in X.
    - exists v, v, 0. simpl. repeat split; try apply X; lra.
    - destruct X as [Lf [P C]]. subst classes. cbn [with_numbers]. rewrite expect_then.
      destruct (expect_rounded place 1
        (fun a => expect (law_of (report {| leaf := l; label := a |})) f) P)
        as [lo [up [share [Lo [Up [Sh E]]]]]]; [lia|].
      exists {| leaf := l; label := up |}, {| leaf := l; label := lo |}, share.
      rewrite E. unfold in_domain. simpl. repeat split; try lia; apply Sh. }
  assert (G : forall x y, input_in leaves classes x -> input_in leaves classes y ->
     dominated (exp epsilon) (law_of (with_numbers report x)) (law_of (with_numbers report y))).
  { intros x y X Y f F.
    destruct (Mix x X f) as [a [b [s [A [B [S E]]]]]]. destruct (Mix y Y f) as [c [d [t [C [D [T E']]]]]].
    rewrite E, E'.
    pose proof (proj1 (H a c (conj A C)) f F). pose proof (proj1 (H a d (conj A D)) f F).
    pose proof (proj1 (H b c (conj B C)) f F). pose proof (proj1 (H b d (conj B D)) f F).
    set (g := exp epsilon) in *. clearbody g.
    set (ea := expect (law_of (report a)) f) in *. set (eb := expect (law_of (report b)) f) in *.
    set (ec := expect (law_of (report c)) f) in *. set (ed := expect (law_of (report d)) f) in *.
    assert (ea <= t * (g * ec) + (1 - t) * (g * ed)) by nra.
    assert (eb <= t * (g * ec) + (1 - t) * (g * ed)) by nra.
    nra. }
  intros x y [X Y]. split; apply G; assumption.
Qed.

(* ---- windows ---- *)

Definition sum_over (l : list Z) (f : Z -> R) : R := fold_right (fun i s => f i + s) 0 l.

Lemma sum_app l m f : sum_over (l ++ m) f = sum_over l f + sum_over m f.
Proof. unfold sum_over. induction l as [|i l IH]; simpl; [lra|]. rewrite IH. lra. Qed.

Lemma sum_nonnegative l f : (forall i, 0 <= f i) -> 0 <= sum_over l f.
Proof. intro F. unfold sum_over. induction l as [|i l IH]; simpl; [lra|]. specialize (F i). lra. Qed.

Lemma sum_window w a g f : (forall i, 0 <= f i) -> (0 <= a)%Z -> (0 <= w)%Z -> (a + w <= g)%Z ->
  sum_over (below w) (fun i => f (a + i)%Z) <= sum_over (below g) f.
Proof.
  intros F A W G. unfold below.
  replace (Z.to_nat g) with (Z.to_nat a + (Z.to_nat w + Z.to_nat (g - a - w)))%nat by lia.
  rewrite !seq_app, !map_app, !sum_app.
  assert (E : sum_over (map Z.of_nat (seq 0 (Z.to_nat w))) (fun i => f (a + i)%Z)
            = sum_over (map Z.of_nat (seq (0 + Z.to_nat a) (Z.to_nat w))) f).
  { change (0 + Z.to_nat a)%nat with (Z.to_nat a).
    assert (H : forall w o, sum_over (map Z.of_nat (seq o w)) (fun i => f (a + i)%Z)
                          = sum_over (map Z.of_nat (seq (Z.to_nat a + o) w)) f).
    { clear -A. induction w as [|w IH]; intro o; [reflexivity|].
      unfold sum_over in *. simpl. rewrite (IH (S o)), Nat.add_succ_r. f_equal. f_equal. lia. }
    rewrite H, Nat.add_0_r. reflexivity. }
  rewrite E.
  pose proof (sum_nonnegative (map Z.of_nat (seq 0 (Z.to_nat a))) f F).
  pose proof (sum_nonnegative (map Z.of_nat (seq (0 + Z.to_nat a + Z.to_nat w) (Z.to_nat (g - a - w)))) f F).
  lra.
Qed.

Lemma expect_uniform bound f : (0 < bound)%Z ->
  expect (uniform_law bound) f = / IZR bound * sum_over (below bound) f.
Proof.
  intro B. unfold uniform_law. rewrite expect_equal_weights, fraction_R by exact B.
  unfold Rdiv. rewrite Rmult_1_l. reflexivity.
Qed.

Lemma expect_window rate kept symbols step f : (0 < kept)%Z -> (0 < symbols)%Z ->
  let k := IZR rate / IZR kKeepAlways in
  expect (law_of (draw_in_window rate kept symbols step)) f
  = k * expect (uniform_law kept) (fun i => f [(step + i)%Z])
    + (1 - k) * expect (uniform_law symbols) (fun i => f [i]).
Proof.
  intros K S k. unfold draw_in_window. cbn [law_of].
  rewrite expect_bind, expect_bernoulli by reflexivity. cbn [law_of]. fold k.
  f_equal; f_equal; rewrite expect_bind.
  - apply expect_ext. intro i. cbn [law_of]. rewrite expect_bind.
    rewrite (expect_ext _ _ (fun _ => f [(step + i)%Z])) by (intro; apply expect_certain).
    rewrite expect_constant, law_total; [lra|apply is_law_uniform, S].
  - rewrite (expect_ext _ _ (fun _ => expect (uniform_law symbols) (fun i => f [i]))).
    + rewrite expect_constant, law_total; [lra|apply is_law_uniform, K].
    + intro i. cbn [law_of]. rewrite expect_bind. apply expect_ext. intro. apply expect_certain.
Qed.

Lemma draw_in_window_dominated nanos kept symbols a b :
  (0 < nanos)%Z -> (0 < kept)%Z -> (0 <= a)%Z -> (a + kept <= symbols)%Z ->
  dominated (exp (epsilon_of nanos))
    (law_of (draw_in_window (keep_rate nanos kept symbols) kept symbols a))
    (law_of (draw_in_window (keep_rate nanos kept symbols) kept symbols b)).
Proof.
  intros N K A W f F. assert (S : (0 < symbols)%Z) by lia.
  rewrite !expect_window by assumption.
  destruct (keep_rate_ratio nanos kept symbols N K S) as [B R].
  set (k := IZR (keep_rate nanos kept symbols) / IZR kKeepAlways) in *. clearbody k.
  assert (C : 1 <= exp (epsilon_of nanos)).
  { apply exp_at_least_one. unfold epsilon_of. apply Rmult_le_pos; [apply IZR_le; lia|].
    left. apply Rinv_0_lt_compat, IZR_lt. reflexivity. }
  set (c := exp (epsilon_of nanos)) in *. clearbody c.
  pose proof (sum_window kept a symbols (fun i => f [i]) (fun i => F [i]) A (Z.lt_le_incl _ _ K) W) as Win.
  cbv beta in Win.
  assert (Wb : 0 <= expect (uniform_law kept) (fun i => f [(b + i)%Z]))
    by (apply expect_nonnegative; [apply is_law_uniform, K|intro; apply F]).
  set (wb := expect (uniform_law kept) (fun i => f [(b + i)%Z])) in *. clearbody wb.
  rewrite !expect_uniform by assumption.
  set (wa := sum_over (below kept) (fun i => f [(a + i)%Z])) in *.
  set (u := sum_over (below symbols) (fun i => f [i])) in *.
  assert (U : 0 <= u) by (apply sum_nonnegative; intro; apply F). clearbody wa u.
  assert (Kr : 0 < IZR kept) by (apply IZR_lt, K). assert (Sr : 0 < IZR symbols) by (apply IZR_lt, S).
  set (w := IZR kept) in *. set (g := IZR symbols) in *. clearbody w g.
  assert (Main : k * (/ w * wa) <= (c - 1) * (1 - k) * (/ g * u)).
  { apply Rle_trans with (k * (/ w * u)).
    - apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; [left; apply Rinv_0_lt_compat, Kr|exact Win].
    - replace (k * (/ w * u)) with (g * k * (/ w * / g * u)) by (field; lra).
      replace ((c - 1) * (1 - k) * (/ g * u)) with (w * (c - 1) * (1 - k) * (/ w * / g * u)) by (field; lra).
      apply Rmult_le_compat_r; [|exact R].
      assert (0 < / w) by (apply Rinv_0_lt_compat, Kr). assert (0 < / g) by (apply Rinv_0_lt_compat, Sr).
      apply Rmult_le_pos; [nra|exact U]. }
  assert (0 <= c * (k * wb)) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]).
  lra.
Qed.

Lemma is_law_draw_in_window nanos kept symbols step :
  (0 < nanos)%Z -> (0 < kept)%Z -> (0 < symbols)%Z ->
  is_law (law_of (draw_in_window (keep_rate nanos kept symbols) kept symbols step)).
Proof.
  intros N K S. unfold draw_in_window. cbn [law_of].
  destruct (keep_rate_is_largest_holds nanos kept symbols N K S) as [B _].
  apply is_law_bind; [apply is_law_bernoulli; [lia|reflexivity]|]. intro. cbn [law_of].
  apply is_law_bind; [apply is_law_uniform, K|]. intro. cbn [law_of].
  apply is_law_bind; [apply is_law_uniform, S|]. intro. apply is_law_certain.
Qed.

Theorem window_response_is_private_holds : window_response_is_private.
Proof.
  unfold window_response_is_private. intros nanos reach half_width N W _.
  set (kept := (2 * half_width + 1)%Z). set (symbols := (2 * reach + 1)%Z).
  set (steps := (2 * (reach - half_width))%Z).
  assert (K : (0 < kept)%Z) by (unfold kept; lia). assert (S : (0 < symbols)%Z) by (unfold symbols; lia).
  assert (T : (0 < steps)%Z) by (unfold steps; lia).
  assert (Fit : (steps + kept <= symbols)%Z) by (unfold steps, kept, symbols; lia).
  set (report := draw_in_window (keep_rate nanos kept symbols) kept symbols).
  assert (Mix : forall x, input_in 1 2 x -> forall f, exists a b share,
     (0 <= a <= steps)%Z /\ (0 <= b <= steps)%Z /\ 0 <= share <= 1 /\
     expect (law_of (window_response nanos reach half_width x)) f
     = share * expect (law_of (report a)) f + (1 - share) * expect (law_of (report b)) f).
  { intros [v|l place] X f; cbn [window_response]; unfold window_response; cbv zeta;
      fold kept symbols steps; fold report.
    - exists (if (label v =? 0)%Z then 0%Z else steps), (if (label v =? 0)%Z then 0%Z else steps), 0.
      destruct (label v =? 0)%Z; repeat split; try lia; try lra.
    - destruct X as [_ [P _]]. rewrite expect_then.
      destruct (expect_rounded place steps (fun a => expect (law_of (report a)) f) P T)
        as [lo [up [share [Lo [Up [Sh E]]]]]].
      exists up, lo, share. rewrite E. repeat split; try lia; apply Sh. }
  split.
  - intros x X. apply is_law_of.
    + destruct x as [v|l place]; unfold window_response; cbv zeta; fold kept symbols steps; fold report.
      * apply is_law_draw_in_window; assumption.
      * unfold round_to_a_step. cbv zeta. cbn [then_ law_of].
        assert (B : (0 < kStep)%Z) by reflexivity. pose proof (Z.mod_pos_bound (place * steps) kStep B).
        apply nonnegative_bind; [apply is_law_bernoulli; [lia|exact B]|].
        intro. apply is_law_draw_in_window; assumption.
    + destruct (Mix x X (fun _ => 1)) as [a [b [s [_ [_ [_ E]]]]]]. rewrite E.
      unfold report. rewrite !law_total by (apply is_law_draw_in_window; assumption). lra.
  - apply private_dominated.
    assert (D : forall a b, (0 <= a <= steps)%Z ->
      dominated (exp (epsilon_of nanos)) (law_of (report a)) (law_of (report b))).
    { intros a b A. apply draw_in_window_dominated; try assumption; lia. }
    assert (G : forall x y, input_in 1 2 x -> input_in 1 2 y ->
      dominated (exp (epsilon_of nanos)) (law_of (window_response nanos reach half_width x))
        (law_of (window_response nanos reach half_width y))).
    { intros x y X Y f F.
      destruct (Mix x X f) as [a [b [s [A [B [Sh E]]]]]].
      destruct (Mix y Y f) as [c [d [t [_ [_ [Th E']]]]]]. rewrite E, E'.
      pose proof (D a c A f F). pose proof (D a d A f F).
      pose proof (D b c B f F). pose proof (D b d B f F).
      set (g := exp (epsilon_of nanos)) in *. clearbody g.
      set (ea := expect (law_of (report a)) f) in *. set (eb := expect (law_of (report b)) f) in *.
      set (ec := expect (law_of (report c)) f) in *. set (ed := expect (law_of (report d)) f) in *.
      clearbody ea eb ec ed.
      assert (ea <= t * (g * ec) + (1 - t) * (g * ed)) by nra.
      assert (eb <= t * (g * ec) + (1 - t) * (g * ed)) by nra.
      nra. }
    intros x y [X Y]. split; apply G; assumption.
Qed.
