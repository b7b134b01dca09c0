/** The rights that docs/redis.md says Weir needs, as the page has them. */

import { readFileSync } from 'node:fs';
import type { TestClient } from '../redis/redis-store';
import { fencedBlocks } from './markdown';

const PAGE = 'docs/redis.md';

/** The commands that control data need beside that line, as their page has them. */
export function readControlCommands(): readonly string[] {
  const block = fencedBlocks('docs/control-data.md', 'text').find((text) => text.startsWith('+'))!;
  return block.trim().split(/\s+/);
}

export interface AclLine {
  /** What stands behind `user weir`: `on`, `>PASSWORD`, the keys and the commands. */
  readonly rules: readonly string[];
  /** The CACHE_KEY_PREFIX that it is written for. */
  readonly prefix: string;
}

export function readAclLine(): AclLine {
  const line = fencedBlocks(PAGE, 'text').find((block) => block.startsWith('user weir '))!;
  return {
    rules: line.trim().split(' ').slice(2),
    prefix: /`CACHE_KEY_PREFIX=([^`]+)`/.exec(readFileSync(PAGE, 'utf8'))![1]!,
  };
}

/** What the page adds for servers that know more commands. */
export async function rightsOfNewer(admin: TestClient): Promise<readonly string[]> {
  const [, command = ''] = /: add `\+(\w+)` \(older servers do not know the command\)/.exec(readFileSync(PAGE, 'utf8')) ?? [];
  const [info] = (await admin.sendCommand(['COMMAND', 'INFO', command])) as unknown as readonly unknown[];
  return info === null ? [] : [`+${command}`];
}
