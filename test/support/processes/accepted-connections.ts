/** The connections to a port that a process has accepted, by /proc: only the kernel knows which of several workers has them. */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** As /proc/net/tcp writes it. */
const ESTABLISHED = '01';

/** Open connections to a port that a process has. */
export function acceptedBy(pid: number, port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = readFileSync(`/proc/${pid}/net/tcp`, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  const inodes = new Set(
    lines.filter(([, address, , state]) => address?.endsWith(local) && state === ESTABLISHED).map((fields) => fields[9]),
  );
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`));
  return links.filter((link) => inodes.has(/^socket:\[(\d+)\]$/.exec(link)?.[1])).length;
}

/** Empty if it has been closed meanwhile. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
