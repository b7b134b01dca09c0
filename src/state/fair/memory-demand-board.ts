/** The demand board of one process, in memory. */

import { NO_MEMBER } from '../../domain/rule/fair/fair';
import type { ByteString } from '../../domain/descriptor/descriptor';
import { KEPT_WINDOWS, MEMBERS_MAX, type DemandBoard, type DemandCounts, type DemandWindow } from './demand-board';

/** Members of all windows together, about 8 MB; beyond them the oldest window is dropped. */
const ALL_MEMBERS_MAX = 40_000;

interface KeptWindow {
  readonly endUs: number;
  readonly counts: Map<ByteString, number>;
}

export class MemoryDemandBoard implements DemandBoard {
  readonly graceUs = 0;
  /** By window, oldest first. */
  private readonly kept = new Map<string, KeptWindow>();
  private members = 0;

  add(window: DemandWindow, counts: DemandCounts): Promise<void> {
    const name = nameOf(window);
    this.dropBefore(window.startUs);
    let kept = this.kept.get(name);
    if (kept === undefined) this.kept.set(name, (kept = { endUs: window.startUs + KEPT_WINDOWS * window.windowUs, counts: new Map() }));
    for (const [member, hits] of counts) this.count(kept, member, hits);
    const [oldest] = this.kept.keys();
    if (this.members > ALL_MEMBERS_MAX && oldest !== undefined) this.drop(oldest);
    return Promise.resolve();
  }

  read(window: DemandWindow): Promise<DemandCounts> {
    return Promise.resolve(this.kept.get(nameOf(window))?.counts ?? new Map<ByteString, number>());
  }

  private count({ counts }: KeptWindow, member: ByteString, hits: number): void {
    const name = counts.has(member) || counts.size < MEMBERS_MAX ? member : NO_MEMBER;
    const before = counts.get(name);
    if (before === undefined) this.members += 1;
    counts.set(name, (before ?? 0) + hits);
  }

  /** `nowUs`: a time that has come. */
  private dropBefore(nowUs: number): void {
    for (const [name, { endUs }] of this.kept) if (endUs <= nowUs) this.drop(name);
  }

  private drop(name: string): void {
    this.members -= this.kept.get(name)?.counts.size ?? 0;
    this.kept.delete(name);
  }
}

function nameOf({ bucket, startUs }: DemandWindow): string {
  return `${startUs}:${bucket}`;
}
