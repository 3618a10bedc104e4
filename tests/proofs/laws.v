(* Proofs about laws: the first part of statements.v. *)
From Coq Require Import ZArith QArith Qreals Reals List Bool Lra Lia.
From Coppice Require Import statements.
Import ListNotations.
Open Scope R_scope.

(* The expectation of f. An event is the case of a function with values 0 and 1. *)
Fixpoint expect {A} (l : law A) (f : A -> R) : R :=
  match l with
  | [] => 0
  | (a, w) :: rest => Q2R w * f a + expect rest f
  end.

Definition indicator {A} (event : A -> bool) (a : A) : R := if event a then 1 else 0.

Lemma expect_event {A} (l : law A) event :
  Q2R (probability l event) = expect l (indicator event).
Proof.
  induction l as [|[a w] l IH]; simpl; [exact RMicromega.Q2R_0|].
  rewrite Q2R_plus, IH. unfold indicator. destruct (event a); rewrite ?RMicromega.Q2R_0; lra.
Qed.

Lemma expect_ext {A} (l : law A) f g : (forall a, f a = g a) -> expect l f = expect l g.
Proof. intro H. induction l as [|[a w] l IH]; simpl; [reflexivity|]. rewrite H, IH. reflexivity. Qed.

Lemma expect_app {A} (l m : law A) f : expect (l ++ m) f = expect l f + expect m f.
Proof. induction l as [|[a w] l IH]; simpl; [lra|]. rewrite IH. lra. Qed.

Lemma expect_scale {A} w (l : law A) f : expect (scale w l) f = Q2R w * expect l f.
Proof.
  induction l as [|[a v] l IH]; simpl; [lra|].
  unfold scale in *. rewrite IH, Q2R_mult. lra.
Qed.

Lemma expect_bind {A B} (l : law A) (next : A -> law B) f :
  expect (bind l next) f = expect l (fun a => expect (next a) f).
Proof.
  induction l as [|[a w] l IH]; simpl; [reflexivity|].
  rewrite expect_app, expect_scale, IH. reflexivity.
Qed.

Lemma expect_certain {A} (a : A) f : expect (certain a) f = f a.
Proof. simpl. rewrite RMicromega.Q2R_1. lra. Qed.

Lemma expect_times {A} (l : law A) c f : expect l (fun a => c * f a) = c * expect l f.
Proof. induction l as [|[a w] l IH]; simpl; [lra|]. rewrite IH. lra. Qed.

Lemma expect_constant {A} (l : law A) c : expect l (fun _ => c) = c * expect l (fun _ => 1).
Proof. rewrite <- expect_times. apply expect_ext. intro. lra. Qed.

Lemma expect_monotone {A} (l : law A) f g :
  nonnegative l -> (forall a, f a <= g a) -> expect l f <= expect l g.
Proof.
  intros N H. induction l as [|[a w] l IH]; simpl; [lra|].
  assert (0 <= Q2R w) by (rewrite <- RMicromega.Q2R_0; apply Qle_Rle, (N a); left; reflexivity).
  assert (nonnegative l) by (intros b v I; apply (N b); right; exact I).
  specialize (IH H1). specialize (H a). nra.
Qed.

Lemma expect_nonnegative {A} (l : law A) f : nonnegative l -> (forall a, 0 <= f a) -> 0 <= expect l f.
Proof.
  intros N H. replace 0 with (expect l (fun _ : A => 0)).
  - apply expect_monotone; assumption.
  - rewrite expect_constant. lra.
Qed.

Lemma law_total {A} (l : law A) : is_law l -> expect l (fun _ => 1) = 1.
Proof.
  intros [_ H]. apply Qeq_eqR in H. rewrite expect_event in H. rewrite RMicromega.Q2R_1 in H.
  exact H.
Qed.

Lemma is_law_of {A} (l : law A) : nonnegative l -> expect l (fun _ => 1) = 1 -> is_law l.
Proof.
  intros N H. split; [exact N|]. apply eqR_Qeq. rewrite expect_event, RMicromega.Q2R_1. exact H.
Qed.

Lemma nonnegative_scale {A} w (l : law A) : (0 <= w)%Q -> nonnegative l -> nonnegative (scale w l).
Proof.
  intros W N a v I. unfold scale in I. apply in_map_iff in I. destruct I as [[b u] [E I]].
  inversion E. subst. apply Qmult_le_0_compat; [exact W|exact (N _ _ I)].
Qed.

Lemma nonnegative_app {A} (l m : law A) : nonnegative l -> nonnegative m -> nonnegative (l ++ m).
Proof. intros L M a w I. apply in_app_or in I. destruct I as [I|I]; [exact (L _ _ I)|exact (M _ _ I)]. Qed.

Lemma nonnegative_bind {A B} (l : law A) (next : A -> law B) :
  nonnegative l -> (forall a, nonnegative (next a)) -> nonnegative (bind l next).
Proof.
  intros N M. induction l as [|[a w] l IH]; simpl; [intros ? ? []|].
  apply nonnegative_app.
  - apply nonnegative_scale; [exact (N a w (or_introl eq_refl))|apply M].
  - apply IH. intros b v I. exact (N b v (or_intror I)).
Qed.

Lemma is_law_certain {A} (a : A) : is_law (certain a).
Proof.
  apply is_law_of.
  - intros b w [E|[]]. inversion E. discriminate.
  - rewrite expect_certain. reflexivity.
Qed.

Lemma is_law_bind {A B} (l : law A) (next : A -> law B) :
  is_law l -> (forall a, is_law (next a)) -> is_law (bind l next).
Proof.
  intros L M. apply is_law_of.
  - apply nonnegative_bind; [apply L|intro; apply M].
  - rewrite expect_bind. rewrite (expect_ext _ _ (fun _ => 1)).
    + apply law_total, L.
    + intro a. apply law_total, M.
Qed.

(* `factor` times q is above p, by events and by functions: the same. *)
Definition dominated {A} (factor : R) (p q : law A) : Prop :=
  forall f, (forall a, 0 <= f a) -> expect p f <= factor * expect q f.

(* A signed law without a negative event gives no function that is nowhere negative a negative
   expectation: the function is a sum of events, least value first. *)
Fixpoint signed {A} (l : list (A * R)) (f : A -> R) : R :=
  match l with
  | [] => 0
  | (a, w) :: rest => w * f a + signed rest f
  end.

Lemma signed_app {A} (l m : list (A * R)) f : signed (l ++ m) f = signed l f + signed m f.
Proof. induction l as [|[a w] l IH]; simpl; [lra|]. rewrite IH. lra. Qed.

Lemma least_value {A} (l : list (A * R)) (f : A -> R) :
  l <> [] -> exists a w, In (a, w) l /\ forall b v, In (b, v) l -> f a <= f b.
Proof.
  induction l as [|[a w] l IH]; [intro H; contradiction|intros _].
  destruct l as [|p l].
  - exists a, w. split; [left; reflexivity|]. intros b v [E|[]]. inversion E. lra.
  - destruct IH as [c [u [I L]]]; [discriminate|].
    destruct (Rle_dec (f a) (f c)).
    + exists a, w. split; [left; reflexivity|].
      intros b v [E|J]; [inversion E; lra|]. specialize (L b v J). lra.
    + exists c, u. split; [right; exact I|].
      intros b v [E|J]; [inversion E; subst; lra|]. exact (L b v J).
Qed.

Definition above {A} (f : A -> R) (v : R) (a : A) : bool := if Rlt_dec v (f a) then true else false.

Lemma signed_filter {A} (l : list (A * R)) (keep : A -> bool) f :
  (forall a w, In (a, w) l -> keep a = false -> f a = 0) ->
  signed (filter (fun p => keep (fst p)) l) f = signed l f.
Proof.
  induction l as [|[a w] l IH]; intro H; simpl; [reflexivity|].
  assert (T : forall b v, In (b, v) l -> keep b = false -> f b = 0)
    by (intros b v I; apply (H b v); right; exact I).
  destruct (keep a) eqn:K; simpl; rewrite (IH T); [reflexivity|].
  rewrite (H a w); [lra|left; reflexivity|exact K].
Qed.

Lemma signed_filter_event {A} (l : list (A * R)) (keep event : A -> bool) :
  signed (filter (fun p => keep (fst p)) l) (indicator event)
  = signed l (indicator (fun a => keep a && event a)).
Proof.
  induction l as [|[a w] l IH]; simpl; [reflexivity|].
  unfold indicator in *. destruct (keep a); simpl; rewrite IH; lra.
Qed.

Lemma filter_length_le {A} (l : list A) keep : (length (filter keep l) <= length l)%nat.
Proof. induction l as [|a l IH]; simpl; [lia|]. destruct (keep a); simpl; lia. Qed.

Lemma filter_shorter {A} (l : list A) keep x :
  In x l -> keep x = false -> (length (filter keep l) < length l)%nat.
Proof.
  induction l as [|a l IH]; intros I K; [destruct I|].
  assert (length (filter keep l) <= length l)%nat by apply filter_length_le.
  simpl. destruct I as [E|I].
  - subst. rewrite K. lia.
  - specialize (IH I K). destruct (keep a); simpl; lia.
Qed.

Lemma signed_layers {A} (n : nat) : forall (l : list (A * R)) f,
  (length l <= n)%nat ->
  (forall event, 0 <= signed l (indicator event)) -> (forall a, 0 <= f a) -> 0 <= signed l f.
Proof.
  induction n as [|n IH]; intros l f L H F.
  - destruct l; [simpl; lra|simpl in L; lia].
  - destruct l as [|p l']; [simpl; lra|].
    set (l := p :: l') in *.
    destruct (least_value l f) as [a [w [I M]]]; [discriminate|].
    set (v := f a) in *. set (g := fun b => Rmax 0 (f b - v)).
    assert (S1 : signed l f = v * signed l (indicator (fun _ => true)) + signed l g).
    { assert (G : forall b u, In (b, u) l -> f b = v + g b).
      { intros b u J. unfold g. rewrite Rmax_right; [lra|]. specialize (M b u J). lra. }
      clearbody l. clear - G. induction l as [|[b u] l IH]; simpl; [lra|].
      rewrite (G b u (or_introl eq_refl)), IH; [unfold indicator; lra|].
      intros c z J. exact (G c z (or_intror J)). }
    assert (S2 : signed (filter (fun q => above f v (fst q)) l) g = signed l g).
    { apply signed_filter. intros b u J K. unfold above in K.
      destruct (Rlt_dec v (f b)); [discriminate|]. unfold g. apply Rmax_left. lra. }
    assert (0 <= signed l g).
    { rewrite <- S2. apply IH.
      - assert (length (filter (fun q => above f v (fst q)) l) < length l)%nat; [|lia].
        apply (filter_shorter _ _ (a, w)); [exact I|]. unfold above; simpl.
        destruct (Rlt_dec v (f a)); [unfold v in *; lra|reflexivity].
      - intro event. rewrite signed_filter_event. apply H.
      - intro b. unfold g. apply Rmax_l. }
    rewrite S1. specialize (H (fun _ => true)). assert (0 <= v) by apply F. nra.
Qed.

Lemma signed_of {A} c (l : law A) g :
  signed (map (fun x => (fst x, c * Q2R (snd x))) l) g = c * expect l g.
Proof. induction l as [|[a w] l IH]; simpl; [lra|]. rewrite IH. lra. Qed.


Lemma dominated_events {A} factor (p q : law A) :
  dominated factor p q <->
  (forall event, Q2R (probability p event) <= factor * Q2R (probability q event)).
Proof.
  split; intro H.
  - intro event. rewrite !expect_event. apply H. intro a. unfold indicator. destruct (event a); lra.
  - intros f F.
    set (l := map (fun x => (fst x, factor * Q2R (snd x))) q ++
              map (fun x => (fst x, -1 * Q2R (snd x))) p).
    assert (S : forall g, signed l g = factor * expect q g - expect p g).
    { intro g. unfold l. rewrite signed_app, !signed_of. lra. }
    assert (0 <= signed l f).
    { apply (signed_layers (length l)); [lia| |exact F].
      intro event. rewrite S, <- !expect_event. specialize (H event). lra. }
    rewrite S in H0. lra.
Qed.

Lemma private_dominated {X A} neighbours epsilon (m : X -> law A) :
  private neighbours epsilon m <->
  (forall x y, neighbours x y ->
     dominated (exp epsilon) (m x) (m y) /\ dominated (exp epsilon) (m y) (m x)).
Proof.
  split.
  - intros H x y N. split; apply dominated_events; intro event; apply (H x y N event).
  - intros H x y N event. destruct (H x y N) as [P Q].
    split; revert event; apply dominated_events; assumption.
Qed.

Lemma dominated_bind {A B} c d (p q : law A) (k k' : A -> law B) :
  0 <= c -> 0 <= d -> nonnegative p -> dominated c p q ->
  (forall a, dominated d (k a) (k' a)) -> (forall a, nonnegative (k' a)) ->
  dominated (c * d) (bind p k) (bind q k').
Proof.
  intros C D N H K N' f F. rewrite !expect_bind.
  assert (expect p (fun a => expect (k a) f) <= expect p (fun a => d * expect (k' a) f)).
  { apply expect_monotone; [exact N|]. intro a. apply K, F. }
  assert (expect p (fun a => expect (k' a) f) <= c * expect q (fun a => expect (k' a) f)).
  { apply H. intro a. apply expect_nonnegative; [apply N'|exact F]. }
  rewrite expect_times in H0. nra.
Qed.

Lemma dominated_same {A} (p : law A) : dominated 1 p p.
Proof. intros f F. lra. Qed.

Lemma dominated_weaker {A} c d (p q : law A) :
  nonnegative q -> c <= d -> dominated c p q -> dominated d p q.
Proof.
  intros N L H f F. specialize (H f F).
  assert (0 <= expect q f) by (apply expect_nonnegative; assumption). nra.
Qed.

Lemma dominated_trans {A} c d (p q r : law A) :
  0 <= c -> dominated c p q -> dominated d q r -> dominated (c * d) p r.
Proof. intros C H K f F. specialize (H f F). specialize (K f F). nra. Qed.

Lemma exp_positive x : 0 <= exp x.
Proof. left. apply exp_pos. Qed.

Lemma exp_at_least_one x : 0 <= x -> 1 <= exp x.
Proof.
  intro H. rewrite <- exp_0. destruct H as [H|H].
  - left. apply exp_increasing, H.
  - rewrite <- H. lra.
Qed.

Theorem post_processing_holds : post_processing.
Proof.
  unfold post_processing. intros X A B neighbours epsilon m after H L.
  rewrite private_dominated in H. apply private_dominated. intros x y N.
  destruct (H x y N) as [P Q].
  split; intros f F; rewrite !expect_bind; [apply P|apply Q]; intro a;
    apply expect_nonnegative; try exact F; apply L.
Qed.

Lemma is_law_transcript {X A} neighbours (q : questions X A) : forall budget x,
  within neighbours budget q -> is_law (transcript q x).
Proof.
  induction q as [|cost m next IH]; intros budget x W; simpl; [apply is_law_certain|].
  destruct W as [_ [L W]]. apply is_law_bind; [apply L|]. intro a.
  apply is_law_bind; [apply (IH a (budget - cost)), W|]. intro rest. apply is_law_certain.
Qed.

Theorem adaptive_composition_holds : adaptive_composition.
Proof.
  unfold adaptive_composition. intros X A neighbours budget q W.
  apply private_dominated. intros x y N. revert budget W.
  induction q as [|cost m next IH]; intros budget W; simpl in *.
  - assert (1 <= exp budget) by (apply exp_at_least_one, W).
    split; apply (dominated_weaker 1); try apply dominated_same; try assumption; apply is_law_certain.
  - destruct W as [P [L W]]. rewrite private_dominated in P. destruct (P x y N) as [D D'].
    replace budget with (cost + (budget - cost)) by lra. rewrite exp_plus.
    assert (Step : forall x y, dominated (exp cost) (m x) (m y) ->
              (forall a, dominated (exp (budget - cost)) (transcript (next a) x) (transcript (next a) y)) ->
              dominated (exp cost * exp (budget - cost))
                (bind (m x) (fun a => bind (transcript (next a) x) (fun rest => certain (a :: rest))))
                (bind (m y) (fun a => bind (transcript (next a) y) (fun rest => certain (a :: rest))))).
    { intros u v E H. apply dominated_bind; try apply exp_positive; [apply L|exact E| |].
      - intros a f F. rewrite !expect_bind. apply H. intro rest.
        apply expect_nonnegative; [apply is_law_certain|exact F].
      - intro a. apply nonnegative_bind; [|intro; apply is_law_certain].
        apply (is_law_transcript neighbours (next a) (budget - cost)), W. }
    split; apply Step; try assumption; intro a; apply (IH a _ (W a)).
Qed.

Theorem group_privacy_holds : group_privacy.
Proof.
  unfold group_privacy. intros X A neighbours epsilon count m H L E.
  apply private_dominated. rewrite private_dominated in H.
  induction count as [|count IH]; intros x y C.
  - simpl in C. subst y. simpl. rewrite Rmult_0_l, exp_0. split; apply dominated_same.
  - rewrite S_INR. assert (0 <= INR count) by apply pos_INR.
    destruct C as [C|[z [N C]]].
    + subst y. assert (1 <= exp ((INR count + 1) * epsilon)) by (apply exp_at_least_one; nra).
      split; apply (dominated_weaker 1); try apply dominated_same; try assumption; apply L.
    + replace ((INR count + 1) * epsilon) with (epsilon + INR count * epsilon) by lra.
      rewrite exp_plus. destruct (H x z N) as [D D']. destruct (IH z y C) as [K K'].
      split; [|rewrite Rmult_comm]; eapply dominated_trans; try apply exp_positive; eassumption.
Qed.

Theorem public_coins_hold : public_coins.
Proof.
  unfold public_coins. intros X C A neighbours epsilon coin m L H.
  apply private_dominated. intros x y N.
  assert (G : forall u v, (forall c, dominated (exp epsilon) (m c u) (m c v)) ->
     dominated (exp epsilon)
       (bind coin (fun c => bind (m c u) (fun a => certain (c, a))))
       (bind coin (fun c => bind (m c v) (fun a => certain (c, a))))).
  { intros u v D f F. rewrite !expect_bind, <- expect_times.
    apply expect_monotone; [apply L|]. intro c. rewrite !expect_bind. apply D.
    intro a. rewrite expect_certain. apply F. }
  split; apply G; intro c; destruct (proj1 (private_dominated _ _ _) (H c) x y N); assumption.
Qed.

Theorem total_encoding_holds : total_encoding.
Proof. intros Row X A epsilon encode m H x y _ event. exact (H (encode x) (encode y) I event). Qed.

Theorem mixture_holds : mixture.
Proof.
  unfold mixture. intros Row X A epsilon encode m L H.
  rewrite private_dominated in H. apply private_dominated. intros r s _.
  assert (G : forall u v, dominated (exp epsilon) (bind (encode u) m) (bind (encode v) m)).
  { intros u v f F. rewrite !expect_bind. set (g := fun x => expect (m x) f).
    assert (P : forall y, expect (encode u) g <= exp epsilon * g y).
    { intro y. apply Rle_trans with (expect (encode u) (fun _ => exp epsilon * g y)).
      - apply expect_monotone; [apply L|]. intro x. apply (proj1 (H x y I)), F.
      - rewrite expect_constant, (law_total _ (L u)). lra. }
    apply Rle_trans with (expect (encode v) (fun _ => expect (encode u) g)).
    - rewrite expect_constant, (law_total _ (L v)). lra.
    - rewrite <- expect_times. apply expect_monotone; [apply L|]. exact P. }
  split; apply G.
Qed.

(* ---- parallel composition ---- *)

Lemma dominated_all_of {A} c (first : list (law A)) l l' (last : list (law A)) :
  0 <= c -> (forall k, In k first -> is_law k) -> (forall k, In k last -> is_law k) ->
  is_law l -> is_law l' -> dominated c l l' ->
  dominated c (all_of (first ++ l :: last)) (all_of (first ++ l' :: last)).
Proof.
  intros C F G L L' D.
  assert (T : is_law (all_of last)).
  { clear -G. induction last as [|k last IH]; simpl; [apply is_law_certain|].
    apply is_law_bind; [apply G; left; reflexivity|]. intro a.
    apply is_law_bind; [apply IH; intros; apply G; right; assumption|]. intro. apply is_law_certain. }
  induction first as [|k first IH]; simpl.
  - intros f Pf. rewrite !expect_bind. apply D. intro a. apply expect_nonnegative; [|exact Pf].
    apply nonnegative_bind; [apply T|intro; apply is_law_certain].
  - intros f Pf. rewrite !expect_bind, <- expect_times.
    apply expect_monotone; [apply F; left; reflexivity|]. intro a. rewrite !expect_bind.
    apply IH; [intros; apply F; right; assumption|]. intro others.
    rewrite expect_certain. apply Pf.
Qed.

Lemma filter_middle {A} (keep : A -> bool) before a after :
  filter keep (before ++ a :: after)
  = filter keep before ++ (if keep a then [a] else []) ++ filter keep after.
Proof. rewrite filter_app. simpl. destruct (keep a); reflexivity. Qed.

Theorem parallel_composition_holds : parallel_composition.
Proof.
  unfold parallel_composition. intros Row A epsilon part_of parts m H L E.
  apply private_dominated.
  set (release := fun x => all_of (map (fun i => m i (filter (fun row => Nat.eqb (part_of row) i) x))
                                       (seq 0 parts))).
  assert (G : forall before row after,
     dominated (exp epsilon) (release (before ++ after)) (release (before ++ row :: after)) /\
     dominated (exp epsilon) (release (before ++ row :: after)) (release (before ++ after))).
  { intros before row after. set (x := before ++ after). set (y := before ++ row :: after).
    assert (Same : forall i, i <> part_of row ->
       filter (fun r => Nat.eqb (part_of r) i) y = filter (fun r => Nat.eqb (part_of r) i) x).
    { intros i D. unfold x, y. rewrite filter_middle, filter_app.
      destruct (Nat.eqb_spec (part_of row) i); [subst; contradiction|reflexivity]. }
    destruct (Nat.lt_ge_cases (part_of row) parts) as [J|J].
    - set (j := part_of row) in *.
      assert (Sp : seq 0 parts = seq 0 j ++ j :: seq (S j) (parts - S j)).
      { replace parts with (j + S (parts - S j))%nat at 1 by lia. rewrite seq_app. reflexivity. }
      assert (Q : forall (g h : nat -> law A), (forall i, i <> j -> g i = h i) ->
         map g (seq 0 j) = map h (seq 0 j) /\
         map g (seq (S j) (parts - S j)) = map h (seq (S j) (parts - S j))).
      { intros g h D. split; apply map_ext_in; intros i I; apply in_seq in I; apply D; lia. }
      unfold release. rewrite !Sp, !map_app. simpl map.
      destruct (Q (fun i => m i (filter (fun r => Nat.eqb (part_of r) i) y))
                  (fun i => m i (filter (fun r => Nat.eqb (part_of r) i) x))) as [Q1 Q2].
      { intros i D. rewrite Same; [reflexivity|exact D]. }
      rewrite Q1, Q2.
      destruct (proj1 (private_dominated _ _ _) (H j)
        (filter (fun r => Nat.eqb (part_of r) j) x) (filter (fun r => Nat.eqb (part_of r) j) y))
        as [D D'].
      { exists (filter (fun r => Nat.eqb (part_of r) j) before), row,
          (filter (fun r => Nat.eqb (part_of r) j) after). left.
        unfold x, y. rewrite filter_middle, filter_app. unfold j at 3. rewrite Nat.eqb_refl.
        split; reflexivity. }
      split; apply dominated_all_of; try apply exp_positive; try apply L; try assumption;
        intros k I; apply in_map_iff in I; destruct I as [i [I _]]; rewrite <- I; apply L.
    - assert (EqR : release y = release x).
      { unfold release. f_equal. apply map_ext_in. intros i I. apply in_seq in I.
        rewrite Same; [reflexivity|lia]. }
      rewrite EqR. assert (N : nonnegative (release x)).
      { unfold release. clear -L. induction (seq 0 parts) as [|i s IH]; simpl; [apply is_law_certain|].
        apply nonnegative_bind; [apply L|]. intro. apply nonnegative_bind; [apply IH|].
        intro. apply is_law_certain. }
      split; apply (dominated_weaker 1); try apply dominated_same; try exact N;
        apply exp_at_least_one, E. }
  intros x y [before [row [after [[Ex Ey]|[Ey Ex]]]]]; subst x y;
    destruct (G before row after); split; assumption.
Qed.
