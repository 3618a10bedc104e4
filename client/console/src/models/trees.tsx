// The trees of a model, one at a time, with what their leaves say.

import {useMemo, useState} from 'preact/hooks';
import type {LeafPrediction} from 'proto/model_pb';
import {count} from '../parts/format';
import {Remark, Section} from '../parts/layout';
import {Notice} from '../parts/notice';
import {Pager, Table} from '../parts/table';
import {Name} from '../parts/text';
import {ForestView, type NodeNote} from '../parts/tree';
import {isLeaf} from '../trees/layout';
import type {ModelProps, WholeModel} from './model';
import {asksOneQuestionATree, listQuestions} from './questions_table';
import {isBeyondThisConsole, leafRemark, leafWords, prunedTo, type LeafWords} from './words';

/** What a leaf's row shows. */
export function leafNote(model: WholeModel): NodeNote {
  return (tree, layout, node) => {
    if (!isLeaf(layout, node)) return null;
    const leaf = model.predictions[tree]?.leaves[layout.firstLeaf[node]!];
    return leaf === undefined ? <span class="sure">nothing is known</span> : <Leaf model={model} leaf={leaf} pruned={prunedTo(layout, node, leaf)}/>;
  };
}

function Leaf({model, leaf, pruned}: {model: WholeModel; leaf: LeafPrediction; pruned: number | null}) {
  const {answer, sure} = leafWords(model, leaf);
  return <><b><Name text={answer} most={40}/></b> <span class="sure">{sure}{pruned !== null && ` (pruned to depth ${pruned})`}</span></>;
}

const QUESTIONS_SHOWN = 20;

/** Lists all trees in one table, if each asks one question. */
function QuestionList({model, features}: ModelProps) {
  const [first, setFirst] = useState(0);
  const asked = useMemo(() => listQuestions(model, model.forest!, features), [model, features]);
  const words = ({answer, sure}: LeafWords) => <><Name text={answer} most={40}/> <span class="sure">{sure}</span></>;
  return <Section title="All questions" aside="No tree asks more than one.">
    <Table caption="What the trees ask, equal questions together, and what their leaves say where it is true and where it is not; votes that cancel are left out" rows={asked.slice(first, first + QUESTIONS_SHOWN)}
      rowKey={(_, i) => first + i} columns={[
        {head: 'question', cell: ({question}) => question === '' ? 'none: said of every row' : <Name text={question} most={90}/>},
        {head: 'if true', cell: ({yes}) => words(yes)},
        {head: 'if not', cell: ({no}) => words(no)},
        {head: 'trees', number: true, cell: ({times}) => count(times)},
      ]}/>
    <Pager first={first} size={QUESTIONS_SHOWN} total={asked.length} onFirst={setFirst} what="questions"/>
  </Section>;
}

export function ModelTrees(props: ModelProps) {
  const {model, features, tried} = props;
  if (isBeyondThisConsole(model)) {
    return <Notice kind="warning" title="This console cannot show these trees"><p>The model is of a later format, or says none, and its leaves would be read wrongly: use the
      console of the daemon that made it. Predictions and files are the daemon's own, and right.</p></Notice>;
  }
  if (model.forest === undefined) return <p>The daemon sent no trees.</p>;
  const leaves = tried.answer && new Map(tried.answer.explanation.trees.map(({tree, leaf}) => [tree, leaf]));
  const remark = leafRemark(model);
  return <>{asksOneQuestionATree(model.forest) && <QuestionList {...props}/>}<Section title="Trees">
    <ForestView forest={model.forest} features={features} note={leafNote(model)} way={tree => leaves?.get(tree) ?? null}/>
    <Remark>{remark === '' ? '± is one standard error, of privacy noise and sampling together.' : remark}
      {leaves !== null && ' The way of the row that you tried is marked.'} To look at trees costs no privacy.</Remark>
  </Section></>;
}
