/** A file whose content is read again when it changes. The last usable content stays in use. */

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { asError } from '../../../lib/errors';
import { SettingsError } from '../../../configuration/settings/table/settings-error';

/** Interval between two looks at the file, in milliseconds. */
const LOOK_MS = 1_000;

/** Longest file, in characters. */
const LENGTH_MAX = 1_048_576;

export interface WatchedFileOptions<Content> {
  /** The setting that names the file. */
  readonly setting: string;
  readonly path: string;
  /** Throws for an unusable text; the message must not contain secrets. */
  readonly parse: (text: string) => Content;
  readonly onChange: (sentence: string) => void;
  /** Called once for each unusable state of the file. */
  readonly onProblem: (sentence: string) => void;
}

export class WatchedFile<Content> {
  /** The last usable content. */
  content: Content;
  private text: string;
  private timer: NodeJS.Timeout | undefined;
  private isReading = false;
  private problem: string | undefined;

  /** Throws SettingsError: a start has no earlier content to keep. */
  constructor(private readonly options: WatchedFileOptions<Content>) {
    try {
      this.text = readFileSync(options.path, 'utf8');
      this.content = this.parse(this.text);
    } catch (error) {
      const message = `${options.path} ${describe(error)}`;
      throw new SettingsError([{ name: options.setting, message }]);
    }
  }

  watch(): void {
    this.timer = setInterval(() => void this.look(), LOOK_MS);
    this.timer.unref();
  }

  close(): void {
    clearInterval(this.timer);
  }

  /** Reads the file, and uses it if it has changed. */
  async look(): Promise<void> {
    // A slow file system may delay the previous look beyond the interval.
    if (this.isReading) return;
    this.isReading = true;
    const { setting, path, onChange, onProblem } = this.options;
    try {
      const text = await readFile(path, 'utf8');
      if (text !== this.text) {
        this.content = this.parse(text);
        this.text = text;
        onChange(`${setting}: read ${path} again, because it has changed`);
      }
      this.problem = undefined;
    } catch (error) {
      const problem = `${setting}: ${path} ${describe(error)}; what it said before stays in use`;
      if (problem !== this.problem) onProblem(problem);
      this.problem = problem;
    } finally {
      this.isReading = false;
    }
  }

  private parse(text: string): Content {
    if (text.length > LENGTH_MAX) throw new Error(`it has more than ${LENGTH_MAX} characters`);
    return this.options.parse(text);
  }
}

function describe(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined ? `is unusable: ${asError(error).message}` : `can't be read (${code})`;
}
