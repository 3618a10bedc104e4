// Links to the pages of one family, side by side.

/** `current` is the one that is shown. */
export function Tabs({label, tabs, current}: {label: string; tabs: readonly (readonly [id: string, name: string, href: string])[]; current: string}) {
  return <nav class="tabs" aria-label={label}>{tabs.map(([id, name, target]) =>
    <a key={id} href={target} {...(id === current ? {'aria-current': 'page' as const} : {})}>{name}</a>)}</nav>;
}
