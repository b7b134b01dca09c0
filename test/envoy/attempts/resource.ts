/** Which resource a path is: as every server reads it, and as the most forgiving one might. */

const UNRESERVED = /%(2[DdEe]|3\d|4[1-9A-Fa-f]|5[0-9AaFf]|6[1-9A-Fa-f]|7[0-9AaEe])/g;
const DECODED_MAX = 3;

/** By RFC 3986: unreserved characters decoded, dots resolved, and slashes merged as most servers do. */
export function plainPath(target: string): string {
  const [path = ''] = withoutOrigin(target).split(/[?#]/);
  return resolved(path.replaceAll(UNRESERVED, (escape) => decodeURIComponent(escape)));
}

/** With all that some server ignores or decodes: letters, parameters of segments, backslashes, spaces at the end, doubled escapes. */
export function forgivenPath(target: string): string {
  let [path = ''] = withoutOrigin(target).split(/[?#]/);
  for (let n = 0; n < DECODED_MAX; n += 1) {
    path = path.replaceAll(/%([0-9a-fA-F]{2})/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
  }
  const [before = ''] = path.replaceAll('\\', '/').split(/[?#]/);
  return resolved(
    before
      .toLowerCase()
      .split('/')
      .map((segment) => segment.replace(/;.*/s, '').replaceAll(/[\0-\x20]/g, ''))
      .join('/'),
  );
}

function withoutOrigin(target: string): string {
  return target.replace(/^[a-z]+:\/\/[^/]*/i, '');
}

function resolved(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') kept.pop();
    else if (segment !== '' && segment !== '.') kept.push(segment);
  }
  return `/${kept.join('/')}`;
}

/** Whether a path is the resource, or below it. */
export function isWithin(path: string, resource: string): boolean {
  return resource === '/' || path === resource || path.startsWith(`${resource}/`);
}
