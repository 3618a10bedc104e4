(* Proofs about rates: ExpLowerBound() and what is made of it. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Lra Lia.
From Coppice Require Import constants statements.
Open Scope R_scope.

(* The k-th term of exp's series. *)
Definition taylor (x : R) (k : nat) : R := / INR (fact k) * x ^ k.

Lemma taylor_nonnegative x k : 0 <= x -> 0 <= taylor x k.
Proof.
  intro H. unfold taylor. apply Rmult_le_pos; [|apply pow_le, H].
  left. apply Rinv_0_lt_compat, INR_fact_lt_0.
Qed.

Lemma partial_sum_below x n : 0 <= x -> sum_f_R0 (taylor x) n <= exp x.
Proof.
  intro H. apply sum_incr; [|intro; apply taylor_nonnegative, H].
  unfold exp. destruct (exist_exp x) as [l E]. exact E.
Qed.

Lemma taylor_next x k : taylor x (S k) = taylor x k * x / INR (S k).
Proof.
  unfold taylor. change (fact (S k)) with (S k * fact k)%nat. rewrite mult_INR.
  simpl pow. field. split; [apply INR_fact_neq_0|apply not_0_INR; discriminate].
Qed.

Lemma division_below (a b : Z) : (0 < b)%Z -> IZR (a / b) <= IZR a / IZR b.
Proof.
  intro B. assert (0 < IZR b) by (apply IZR_lt, B).
  apply Rmult_le_reg_r with (IZR b); [assumption|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r; [|lra].
  rewrite <- mult_IZR. apply IZR_le. rewrite Z.mul_comm. apply Z.mul_div_le, B.
Qed.

Lemma exp_terms_below nanos unit scale : (0 < nanos)%Z -> (0 < unit)%Z -> 0 <= scale ->
  forall rounds n term sum,
    (0 <= term)%Z -> IZR term <= scale * taylor (IZR nanos / IZR unit) n ->
    IZR sum <= scale * sum_f_R0 (taylor (IZR nanos / IZR unit)) n ->
    IZR (exp_terms rounds nanos unit (Z.of_nat (S n)) term sum)
    <= scale * exp (IZR nanos / IZR unit).
Proof.
  intros N U C. assert (0 < IZR nanos) by (apply IZR_lt, N). assert (0 < IZR unit) by (apply IZR_lt, U).
  set (x := IZR nanos / IZR unit).
  assert (X : 0 <= x) by (unfold x; apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
  induction rounds as [|rounds IH]; intros n term sum T HT HS; cbn [exp_terms].
  - specialize (partial_sum_below x n X). intro P. nra.
  - destruct (Z.eqb_spec term 0).
    + specialize (partial_sum_below x n X). intro P. nra.
    + set (next := (term * nanos / (unit * Z.of_nat (S n)))%Z).
      assert (Next : IZR next <= scale * taylor x (S n)).
      { apply Rle_trans with (IZR (term * nanos) / IZR (unit * Z.of_nat (S n))).
        - apply division_below. lia.
        - rewrite !mult_IZR, <- INR_IZR_INZ, taylor_next.
          assert (0 < INR (S n)) by (apply lt_0_INR; lia).
          replace (IZR term * IZR nanos / (IZR unit * INR (S n))) with (IZR term * (x / INR (S n))).
          2: { unfold x. field. lra. }
          replace (scale * (taylor x n * x / INR (S n))) with (scale * taylor x n * (x / INR (S n)))
            by (field; lra).
          apply Rmult_le_compat_r; [|exact HT].
          apply Rmult_le_pos; [exact X|left; apply Rinv_0_lt_compat; assumption]. }
      replace (Z.of_nat (S n) + 1)%Z with (Z.of_nat (S (S n))) by lia.
      apply IH.
      * apply Z.div_pos; [nia|lia].
      * exact Next.
      * cbn [sum_f_R0]. rewrite plus_IZR. lra.
Qed.

Lemma exp_terms_grow nanos unit : (0 < nanos)%Z -> (0 < unit)%Z ->
  forall rounds k term sum, (0 < k)%Z -> (0 <= term)%Z ->
    (sum <= exp_terms rounds nanos unit k term sum)%Z.
Proof.
  intros N U. induction rounds as [|rounds IH]; intros k term sum K T; cbn [exp_terms]; [lia|].
  destruct (Z.eqb_spec term 0); [lia|].
  assert (0 <= term * nanos / (unit * k))%Z by (apply Z.div_pos; nia).
  specialize (IH (k + 1)%Z (term * nanos / (unit * k))%Z (sum + term * nanos / (unit * k))%Z). lia.
Qed.

Theorem exp_lower_bound_is_below_holds : exp_lower_bound_is_below.
Proof.
  unfold exp_lower_bound_is_below, exp_lower_bound. intros nanos divisor N D.
  set (unit := (kNanosPerEpsilon * divisor)%Z).
  assert (U : (0 < unit)%Z) by (unfold unit, kNanosPerEpsilon; lia).
  set (used := Z.min nanos (kMaxExponent * unit)).
  assert (V : (0 < used <= nanos)%Z) by (unfold used, kMaxExponent; lia).
  split.
  - apply exp_terms_grow; try lia; apply Z.pow_nonneg; discriminate.
  - apply Rle_trans with (2 ^ Z.to_nat kExpBits * exp (IZR used / IZR unit)).
    + assert (One : IZR (2 ^ kExpBits) = 2 ^ Z.to_nat kExpBits) by (rewrite pow_IZR; reflexivity).
      change 1%Z with (Z.of_nat 1).
      apply exp_terms_below; try lia.
      * apply pow_le. lra.
      * rewrite One. unfold taylor. simpl fact. simpl INR. rewrite pow_O. lra.
      * rewrite One. simpl sum_f_R0. unfold taylor. simpl fact. simpl INR. rewrite pow_O. lra.
    + apply Rmult_le_compat_l; [apply pow_le; lra|].
      assert (IZR used <= IZR nanos) by (apply IZR_le, V).
      assert (0 < IZR divisor) by (apply IZR_lt, D).
      assert (0 < IZR kNanosPerEpsilon) by (apply IZR_lt; reflexivity).
      assert (Q : IZR used / IZR unit <= epsilon_of nanos / IZR divisor).
      { unfold epsilon_of, unit. rewrite mult_IZR.
        replace (IZR nanos / IZR kNanosPerEpsilon / IZR divisor)
          with (IZR nanos / (IZR kNanosPerEpsilon * IZR divisor)) by (field; lra).
        apply Rmult_le_compat_r; [|assumption]. left. apply Rinv_0_lt_compat. nra. }
      destruct Q as [Q|Q]; [left; apply exp_increasing, Q|right; rewrite Q; reflexivity].
Qed.

Open Scope Z_scope.

(* Two divisions of half the digits each are one. *)
Lemma long_division gain whole half : 0 < whole -> 0 < half ->
  gain * half / whole * half + gain * half mod whole * half / whole = gain * (half * half) / whole.
Proof.
  intros W H.
  replace (gain * (half * half)) with ((gain * half) * half) by ring.
  rewrite (Z.div_mod (gain * half) whole) at 3 by lia.
  rewrite Z.mul_add_distr_r.
  replace (whole * (gain * half / whole) * half) with (gain * half / whole * half * whole) by ring.
  rewrite Z.div_add_l by lia. reflexivity.
Qed.

Lemma keep_rate_value nanos kept symbols : 0 < nanos -> 0 < kept -> 0 < symbols ->
  let gain := (exp_lower_bound nanos 1 - 2 ^ kExpBits) * kept in
  keep_rate nanos kept symbols = gain * kKeepAlways / (gain + 2 ^ kExpBits * symbols).
Proof.
  intros N K Sy gain.
  destruct (exp_lower_bound_is_below_holds nanos 1 N) as [E _]; [reflexivity|].
  assert (0 < 2 ^ kExpBits) by reflexivity. assert (0 <= gain) by (unfold gain; nia).
  unfold keep_rate. fold gain. rewrite long_division; [|nia|reflexivity].
  reflexivity.
Qed.

Theorem keep_rate_is_largest_holds : keep_rate_is_largest.
Proof.
  unfold keep_rate_is_largest. intros nanos kept symbols N K Sy.
  destruct (exp_lower_bound_is_below_holds nanos 1 N) as [E _]; [reflexivity|].
  assert (O : 0 < 2 ^ kExpBits) by reflexivity. assert (A : 0 < kKeepAlways) by reflexivity.
  rewrite keep_rate_value by assumption.
  set (one := 2 ^ kExpBits) in *. set (always := kKeepAlways) in *. clearbody one always.
  set (e := exp_lower_bound nanos 1) in *. clearbody e.
  set (gain := (e - one) * kept). assert (0 <= gain) by (unfold gain; nia).
  set (whole := gain + one * symbols). assert (gain < whole) by (unfold whole; nia).
  set (k := gain * always / whole).
  assert (L : whole * k <= gain * always) by (apply Z.mul_div_le; lia).
  assert (M : gain * always < whole * (k + 1))
    by (rewrite Z.add_1_r; apply Z.mul_succ_div_gt; lia).
  assert (0 <= k) by (apply Z.div_pos; nia).
  assert (k < always) by nia.
  split; [lia|]. unfold whole, gain in *. split; nia.
Qed.

Open Scope R_scope.

Lemma enough_lies (one e whole half : Z) (c : R) :
  (0 < one)%Z -> (one <= e)%Z -> (whole = 2 * half)%Z -> (0 < half)%Z -> IZR e <= IZR one * c ->
  let a := ((one * whole + (one + e) - 1) / (one + e))%Z in
  (0 < a <= half)%Z /\ IZR (whole - a) / IZR a <= c.
Proof.
  intros O E Two H0 L. cbv zeta.
  set (a := ((one * whole + (one + e) - 1) / (one + e))%Z).
  assert (Up : (one * whole <= (one + e) * a)%Z).
  { assert (M := Z.mul_succ_div_gt (one * whole + (one + e) - 1) (one + e)). fold a in M. lia. }
  assert (Dn : ((one + e) * a <= one * whole + (one + e) - 1)%Z) by (apply Z.mul_div_le; lia).
  clearbody a. subst whole.
  assert (A0 : (0 < a)%Z).
  { apply Z.mul_pos_cancel_l with (one + e)%Z; [lia|]. assert (0 < one * (2 * half))%Z by (apply Z.mul_pos_pos; lia). lia. }
  assert (A1 : (a < half + 1)%Z).
  { apply Z.mul_lt_mono_pos_l with (one + e)%Z; [lia|].
    assert (0 <= (e - one) * half)%Z by (apply Z.mul_nonneg_nonneg; lia). lia. }
  split; [lia|].
  assert (Ar : 0 < IZR a) by (apply IZR_lt, A0). assert (Or : 0 < IZR one) by (apply IZR_lt, O).
  assert (Z1 : ((2 * half - a) * one <= e * a)%Z) by lia.
  apply IZR_le in Z1. rewrite !mult_IZR in Z1.
  set (x := IZR (2 * half - a)) in *. set (y := IZR a) in *. set (z := IZR one) in *. set (w := IZR e) in *.
  clearbody x y z w.
  apply Rmult_le_reg_r with (y * z); [apply Rmult_lt_0_compat; assumption|].
  replace (x / y * (y * z)) with (x * z) by (field; lra).
  apply Rle_trans with (1 := Z1). replace (c * (y * z)) with (z * c * y) by ring.
  apply Rmult_le_compat_r; lra.
Qed.

Theorem lie_rate_is_enough_holds : lie_rate_is_enough.
Proof.
  unfold lie_rate_is_enough. intros nanos divisor N D.
  destruct (exp_lower_bound_is_below_holds nanos divisor N D) as [E L].
  assert (One : IZR (2 ^ kExpBits) = (2 ^ Z.to_nat kExpBits)%R) by (rewrite pow_IZR; reflexivity).
  rewrite <- One in L.
  exact (enough_lies (2 ^ kExpBits) (exp_lower_bound nanos divisor) (2 ^ 32) (2 ^ 31) _
           eq_refl E eq_refl eq_refl L).
Qed.
