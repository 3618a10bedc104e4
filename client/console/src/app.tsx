// The shell: navigation, sign-in, the connection's banner, and the page of the route.

import type {ComponentType} from 'preact';
import {useEffect, useErrorBoundary, useRef, useState} from 'preact/hooks';
import {askNow, connection} from './api/connection';
import {beginSession} from './api/clients';
import {session, signOut} from './api/session';
import {useStore} from './api/store';
import {Page} from './parts/layout';
import {Failure, Loading, Notice} from './parts/notice';
import {Name} from './parts/text';
import {href, route} from './route';
import {SignIn} from './sign_in';

/** The default export of a family of pages: it draws `#/FAMILY/path…`. */
export interface FamilyProps {
  path: readonly string[];
}

type Family = ComponentType<FamilyProps>;

// Defined by the build.
declare const CONSOLE_VERSION: string;
declare const CONSOLE_LICENSES: string;

// Each is loaded when it is first opened.
const FAMILIES: Record<string, {name: string; load: () => Promise<{default: Family}>}> = {
  studies: {name: 'Studies', load: () => import('./studies/pages')},
  datasets: {name: 'Datasets', load: () => import('./datasets/pages')},
  models: {name: 'Models', load: () => import('./models/pages')},
  operations: {name: 'Operations', load: () => import('./operations/pages')},
};

const loadedFamilies = new Map<string, Family>();

function FamilyPage({family, path}: {family: string; path: readonly string[]}) {
  const [, setLoaded] = useState(0);
  const [error, setError] = useState<unknown>(null);
  const load = () => {
    setError(null);
    FAMILIES[family]!.load().then(module => {
      loadedFamilies.set(family, module.default);
      setLoaded(n => n + 1);
    }, () => setError(new Error('A part of the console could not be loaded. If the daemon was brought up to date, reload the page.')));
  };
  useEffect(() => { if (!loadedFamilies.has(family)) load(); }, [family]);
  const Shown = loadedFamilies.get(family);
  if (Shown !== undefined) return <Shown path={path}/>;
  return error === null ? <Loading/> : <Failure error={error} retry={load}/>;
}

/** A page that cannot be drawn says so, and leaves the others working. */
function Guarded({family, path}: {family: string; path: readonly string[]}) {
  const [error, reset] = useErrorBoundary(failure => console.error(failure));
  const address = path.join('/');
  useEffect(() => { if (error !== undefined) reset(); }, [address]);
  if (error === undefined) return <FamilyPage family={family} path={path}/>;
  return <Page title="This page could not be drawn" lead="It is a fault of the console, or the daemon sent something that it does not understand.">
    <Notice kind="error" title="What happened" action={<button type="button" class="small" onClick={reset}>Try again</button>}><p><Name text={String(error)} most={1000}/></p></Notice>
  </Page>;
}

function NotFound() {
  return <Page title="There is no such page" lead="The address may be of another version of the console.">
    <p><a href={href('studies')}>Go to the studies</a></p>
  </Page>;
}

function Banner() {
  const {lost} = useStore(connection);
  return <div role="status" class={lost ? 'banner' : 'hidden'}>{lost && <>
    <span>The daemon cannot be reached. What you see is as it was; the console goes on by itself when the daemon is back.</span>
    <button type="button" class="small" onClick={askNow}>Ask now</button></>}</div>;
}

function Navigation({current}: {current: string | undefined}) {
  const {state} = useStore(session);
  const isIn = state === 'signed-in' || state === 'open';
  return <div class="top" role="banner">
    <a class="brand" href={href('studies')}><Mark/>Coppice</a>
    {isIn && <nav aria-label="Main"><ul>{Object.entries(FAMILIES).map(([family, {name}]) =>
      <li key={family}><a href={href(family)} {...(family === current ? {'aria-current': 'page' as const} : {})}>{name}</a></li>)}</ul></nav>}
    {state === 'signed-in' && <button type="button" class="small quiet-button" onClick={() => signOut()}>Sign out</button>}
    {state === 'open' && <button type="button" class="small quiet-button" onClick={() => signOut()}>Sign in</button>}
  </div>;
}

// A stool with three shoots.
function Mark() {
  return <svg class="brand-mark" viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
    <path d="M16 28V13M16 20l-8-8M16 17l8-9M8 12V7M24 8V4" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/>
  </svg>;
}

function Unreached() {
  return <Page title="No answer yet" lead="The console was loaded, but the daemon does not answer its calls.">
    <button type="button" onClick={() => void beginSession()}>Try again</button>
  </Page>;
}

/** Where this daemon serves the documentation, as its entry page says. Empty if it serves none. */
function useDocumentation() {
  const [place, setPlace] = useState('');
  useEffect(() => {
    fetch('/', {method: 'HEAD'})
      .then(answer => setPlace(/<(\/docs\/)>; rel="help"/.exec(answer.headers.get('Link') ?? '')?.[1] ?? ''))
      .catch(() => {});
  }, []);
  return place;
}

function Footer() {
  const documentation = useDocumentation();
  return <footer class="foot"><p>Coppice's console {CONSOLE_VERSION}
    {documentation && <> · <a href={documentation} target="_blank" rel="noopener">documentation</a></>}
    {' · '}<a href={CONSOLE_LICENSES} target="_blank" rel="noopener">licences of its parts</a></p></footer>;
}

export function App() {
  const [family = 'studies', ...path] = useStore(route);
  const {state} = useStore(session);
  const {lost, epoch} = useStore(connection);
  const main = useRef<HTMLElement>(null);
  useEffect(() => { if (state === 'unknown' && epoch > 0) void beginSession(); }, [epoch]);
  let page;
  if (state === 'unknown') page = lost ? <Unreached/> : <Loading/>;
  else if (state === 'signed-out') page = <SignIn/>;
  else if (!Object.hasOwn(FAMILIES, family)) page = <NotFound/>;
  else page = <Guarded key={family} family={family} path={path}/>;
  return <>
    <a class="skip" href="#main" onClick={event => { event.preventDefault(); main.current?.focus(); }}>Skip to the page</a>
    <Navigation current={family}/>
    <Banner/>
    <main id="main" tabIndex={-1} ref={main}>{page}</main>
    <Footer/>
  </>;
}
