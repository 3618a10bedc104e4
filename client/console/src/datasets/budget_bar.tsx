// How much of a budget is spent, drawn. The figures next to it say it in numbers.

import {Composition, type Dataset} from 'proto/dataset_pb';
import {epsilon} from '../parts/format';
import {percentSpent, shareOf} from './budget';

/** Empty under zero-concentrated composition: its epsilons do not add up to the cap. `more`: what a job would take. */
export function BudgetBar({dataset, more = 0n}: {dataset: Dataset; more?: bigint}) {
  const total = dataset.cap?.epsilonNanos ?? 0n, spent = dataset.spent?.epsilonNanos ?? 0n;
  if (dataset.cap?.composition !== Composition.BASIC || total === 0n) return null;
  const text = `ε ${epsilon(spent)} of ${epsilon(total)} is spent, ${percentSpent(spent, total)}${more > 0n ? `; this job takes ε ${epsilon(more)}` : ''}`;
  return <div class="budget" role="img" aria-label={text} title={text}>
    <span class="budget-spent" style={{width: `${100 * shareOf(spent, total)}%`}}/>
    {more > 0n && <span class={spent + more > total ? 'budget-more over' : 'budget-more'} style={{width: `${100 * shareOf(more, total)}%`}}/>}
  </div>;
}
