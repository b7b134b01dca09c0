/** The place in the console: the fragment of the address, which no server sees. `#/tenant/payments?entries=merchant%3Dm1` */

import { signal } from '@preact/signals';

export interface Place {
  readonly page: string;
  readonly query: URLSearchParams;
}

export const place = signal<Place>(readPlace());

function readPlace(): Place {
  const [path = '', search = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return { page: path, query: new URLSearchParams(search) };
}

export function linkTo(page: string, query: Readonly<Record<string, string | readonly string[] | undefined>> = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (typeof value === 'string') search.append(name, value);
    else for (const each of value ?? []) search.append(name, each);
  }
  const text = search.toString();
  return `#/${page}${text === '' ? '' : `?${text}`}`;
}

/** Changes the address without a step back in the history. */
export function replacePlace(link: string): void {
  history.replaceState(null, '', link);
  place.value = readPlace();
}

addEventListener('hashchange', () => {
  place.value = readPlace();
});
