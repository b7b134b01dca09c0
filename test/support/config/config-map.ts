/** A directory that changes as Kubernetes changes a mounted ConfigMap: all of its files at once, by the swap of one symlink. */

import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** By their names. */
export type Files = Readonly<Record<string, string>>;

/** Versions of the files that are kept, as somebody may be reading the last one. */
const KEPT = 2;

export class ConfigMap {
  private versions: string[] = [];
  private count = 0;

  constructor(
    files: Files,
    readonly directory = mkdtempSync(path.join(tmpdir(), 'weir-config-map-')),
  ) {
    mkdirSync(directory, { recursive: true });
    this.swap(files);
  }

  swap(files: Files): void {
    this.count += 1;
    const version = `..version_${this.count}`;
    for (const [name, text] of Object.entries(files)) {
      const full = path.join(this.directory, version, name);
      mkdirSync(path.dirname(full), { recursive: true });
      writeFileSync(full, text);
    }
    mkdirSync(path.join(this.directory, version), { recursive: true });
    swapSymlink({ link: path.join(this.directory, '..data'), target: version });
    this.linkNames();
    this.versions.push(version);
    while (this.versions.length > KEPT) rmSync(path.join(this.directory, this.versions.shift()!), { recursive: true });
  }

  remove(): void {
    rmSync(this.directory, { recursive: true });
  }

  /** What the users of the volume see: a symlink for each name, made once. */
  private linkNames(): void {
    const names = readdirSync(path.join(this.directory, '..data'));
    const linked = readdirSync(this.directory).filter((name) => !name.startsWith('..'));
    for (const name of names) if (!linked.includes(name)) symlinkSync(path.join('..data', name), path.join(this.directory, name));
    for (const name of linked) if (!names.includes(name)) rmSync(path.join(this.directory, name));
  }
}

/** From one moment to the next the link leads elsewhere; it is never missing. */
export function swapSymlink({ link, target }: { readonly link: string; readonly target: string }): void {
  symlinkSync(target, `${link}_tmp`);
  renameSync(`${link}_tmp`, link);
}
