// A forest, one tree at a time, as a treeview. Rows have one height and only visible ones are drawn, so
// that trees of thousands of leaves stay fast.

import type {ComponentChildren} from 'preact';
import {useEffect, useId, useMemo, useRef, useState} from 'preact/hooks';
import type {Forest} from 'proto/forest_pb';
import {isLeaf, isLeft, layOut, splitsAbove, visibleNodes, type TreeLayout} from '../trees/layout';
import {Questions, type TreeFeature} from '../trees/questions';
import {countOf, count} from './format';
import {Notice} from './notice';
import {Name, visible} from './text';

/** What a node's row shows after its question; a leaf has no question. */
export type NodeNote = (tree: number, layout: TreeLayout, node: number) => ComponentChildren;

export interface ForestViewProps {
  forest: Forest;
  /** The result of treeFeatures(). */
  features: readonly TreeFeature[];
  note?: NodeNote;
  /** The leaf that a row reaches, per tree: the path to it is marked. */
  way?: (tree: number) => number | null;
  /** The tree shown at first, and the callback for another choice. */
  tree?: number;
  onTree?: (tree: number) => void;
}

const ROW_PX = 30, MOST_SHOWN_PX = 560, OVERSCAN = 8, OPEN_DEPTH = 3;

/** Chooses a tree and shows it. */
export function ForestView({forest, features, note, way, tree: first = 0, onTree}: ForestViewProps) {
  const [number, setNumber] = useState(Math.min(first, Math.max(forest.trees.length - 1, 0)));
  const id = useId();
  const questions = useMemo(() => new Questions(forest, features), [forest, features]);
  const layout = useMemo(() => {
    try {
      return layOut(forest.trees[number]!);
    } catch {
      return null;
    }
  }, [forest, number]);
  const show = (tree: number) => {
    setNumber(tree);
    onTree?.(tree);
  };
  if (forest.trees.length === 0) return <p>There are no trees.</p>;
  return <div class="forest">
    {forest.trees.length > 1 && <div class="pager">
      <label for={id}>Tree</label>
      <select id={id} class="short" value={number} onChange={event => show(Number(event.currentTarget.value))}>
        {forest.trees.map((_, i) => <option key={i} value={i}>{i}</option>)}
      </select>
      <button type="button" class="small" disabled={number === 0} onClick={() => show(number - 1)}>Previous</button>
      <button type="button" class="small" disabled={number === forest.trees.length - 1} onClick={() => show(number + 1)}>Next</button>
      <span>of 0 to {count(forest.trees.length - 1)}</span>
    </div>}
    {layout === null ? <Notice kind="error" title="This tree is damaged"><p>The daemon sent something that is no tree.</p></Notice>
      : <OneTree key={number} number={number} layout={layout} questions={questions} {...(note ? {note} : {})} leaf={way?.(number) ?? null}/>}
  </div>;
}

/** The splits from the root to a leaf. */
function waysTo(layout: TreeLayout, leaf: number | null): Set<number> {
  const nodes = new Set<number>();
  if (leaf === null) return nodes;
  for (let node = 0; node < layout.size; ++node) {
    if (layout.firstLeaf[node]! <= leaf && leaf < layout.endLeaf[node]!) nodes.add(node);
  }
  return nodes;
}

function OneTree({number, layout, questions, note, leaf}: {
  number: number; layout: TreeLayout; questions: Questions; note?: NodeNote; leaf: number | null;
}) {
  const way = useMemo(() => waysTo(layout, leaf), [layout, leaf]);
  const [open, setOpen] = useState<ReadonlySet<number>>(() => new Set([...splitsAbove(layout, OPEN_DEPTH), ...way]));
  const [active, setActive] = useState(0);
  const [top, setTop] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  useEffect(() => { if (way.size > 0) setOpen(before => new Set([...before, ...way])); }, [way]);
  const nodes = useMemo(() => visibleNodes(layout, open), [layout, open]);
  // Scrolls the end of the path into view, which is what readers look for.
  useEffect(() => {
    const last = nodes.reduce((found, node, i) => way.has(node) ? i : found, -1), shown = box.current;
    if (last >= 0 && shown !== null) shown.scrollTop = Math.max(0, (last + 1) * ROW_PX - shown.clientHeight);
  }, [way]);
  const place = nodes.indexOf(active);
  const height = Math.min(nodes.length * ROW_PX, MOST_SHOWN_PX);
  const begin = Math.max(0, Math.floor(top / ROW_PX) - OVERSCAN);
  const end = Math.min(nodes.length, Math.ceil((top + height) / ROW_PX) + OVERSCAN);

  const toggle = (node: number, want = !open.has(node)) => {
    if (isLeaf(layout, node) || open.has(node) === want) return;
    const next = new Set(open);
    if (want) next.add(node);
    else next.delete(node);
    setOpen(next);
  };
  const moveTo = (index: number) => {
    const node = nodes[Math.min(Math.max(index, 0), nodes.length - 1)]!;
    setActive(node);
    const from = nodes.indexOf(node) * ROW_PX, shown = box.current;
    if (shown === null) return;
    if (from < shown.scrollTop) shown.scrollTop = from;
    else if (from + ROW_PX > shown.scrollTop + shown.clientHeight) shown.scrollTop = from + ROW_PX - shown.clientHeight;
  };
  const onKey = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(height / ROW_PX) - 1);
    const isOpen = open.has(active) && !isLeaf(layout, active);
    const keys: Record<string, () => void> = {
      ArrowDown: () => moveTo(place + 1), ArrowUp: () => moveTo(place - 1), Home: () => moveTo(0), End: () => moveTo(nodes.length - 1),
      PageDown: () => moveTo(place + page), PageUp: () => moveTo(place - page), Enter: () => toggle(active), ' ': () => toggle(active),
      ArrowRight: () => isOpen ? moveTo(place + 1) : toggle(active, true),
      ArrowLeft: () => isOpen ? toggle(active, false) : layout.parents[active]! >= 0 && moveTo(nodes.indexOf(layout.parents[active]!)),
    };
    const act = keys[event.key];
    if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  };

  return <>
    <div class="tree-head">
      <span>{countOf(layout.leaves, 'leaf', 'leaves')}, depth {layout.depth}</span>
      <span class="actions">
        <button type="button" class="small" onClick={() => setOpen(splitsAbove(layout, layout.depth))}>Open all</button>
        <button type="button" class="small" onClick={() => { setOpen(new Set()); setActive(0); }}>Close all</button>
      </span>
    </div>
    <div class="treeview" role="tree" aria-label={`Tree ${number}`} tabIndex={0} ref={box} aria-activedescendant={place >= 0 ? `${id}-${active}` : `${id}-0`}
      style={{height: `${height}px`}} onKeyDown={onKey} onScroll={event => setTop(event.currentTarget.scrollTop)}>
      <div class="treeview-all" role="presentation" style={{height: `${nodes.length * ROW_PX}px`}}>
        {nodes.slice(begin, end).map((node, i) => <TreeRow key={node} id={`${id}-${node}`} top={(begin + i) * ROW_PX} layout={layout} node={node}
          question={questions.of(layout, node)} isOpen={open.has(node)} isActive={node === active} isOnWay={way.has(node)} note={note?.(number, layout, node)}
          onClick={() => { setActive(node); toggle(node); }}/>)}
      </div>
    </div>
  </>;
}

function TreeRow({id, top, layout, node, question, isOpen, isActive, isOnWay, note, onClick}: {
  id: string; top: number; layout: TreeLayout; node: number; question: string; isOpen: boolean; isActive: boolean; isOnWay: boolean;
  note: ComponentChildren; onClick: () => void;
}) {
  const leaf = isLeaf(layout, node), depth = layout.depths[node]!, parent = layout.parents[node]!;
  const hidden = leaf ? 0 : layout.endLeaf[node]! - layout.firstLeaf[node]!;
  return <div id={id} role="treeitem" aria-level={depth + 1} aria-setsize={parent < 0 ? 1 : 2} aria-posinset={parent < 0 || isLeft(layout, node) ? 1 : 2}
    aria-selected={isActive} {...(leaf ? {} : {'aria-expanded': isOpen})} class={`treerow ${leaf ? 'leaf' : ''} ${isActive ? 'active' : ''} ${isOnWay ? 'on-way' : ''}`}
    style={{top: `${top}px`, height: `${ROW_PX}px`, paddingLeft: `${0.5 + 1.15 * depth}rem`}} onClick={onClick}>
    <span class="twist" aria-hidden="true">{leaf ? '' : isOpen ? '▾' : '▸'}</span>
    {parent >= 0 && <span class="way">{isLeft(layout, node) ? 'yes' : 'no'}</span>}
    {!leaf && <span class="question" title={visible(question)}><Name text={question} most={220}/></span>}
    {leaf && note === undefined && <span class="sure">leaf {layout.firstLeaf[node]}</span>}
    {note}
    {!leaf && !isOpen && <span class="sure"> {countOf(hidden, 'leaf', 'leaves')}</span>}
  </div>;
}
