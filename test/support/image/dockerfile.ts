/** deploy/Dockerfile as data: its stages and their instructions, with the values of build arguments filled in. */
import { readFileSync } from 'node:fs';

export interface Instruction {
  /** In capitals: `COPY`. */
  readonly name: string;
  /** What follows it, with continued lines joined. */
  readonly text: string;
}

export interface Stage {
  /** `AS name`; the last stage has none. */
  readonly name: string | undefined;
  readonly image: string;
  /** `--platform` of the stage, such as `$BUILDPLATFORM`; undefined: that of the image which is built. */
  readonly platform: string | undefined;
  readonly instructions: readonly Instruction[];
}

/** Instructions that this reader and its users understand; another one fails, so that none is skipped in silence. */
const KNOWN = ['ARG', 'FROM', 'LABEL', 'WORKDIR', 'ENV', 'COPY', 'RUN', 'USER', 'EXPOSE', 'HEALTHCHECK', 'ENTRYPOINT'];

/** @param args `--build-arg` of `docker build`; an argument without one has the value in the file. */
export function readDockerfile(file: string, args: Readonly<Record<string, string>> = {}): readonly Stage[] {
  const stages: { name: string | undefined; image: string; platform: string | undefined; instructions: Instruction[] }[] = [];
  /** Before the first FROM: they count in FROM, and in a stage that repeats their name. */
  const globals = new Map<string, string>();
  let known = new Map<string, string>();
  for (const { name, text } of readInstructions(file)) {
    if (name === 'ARG') {
      const [argument = '', value] = text.split(/=(.*)/s);
      const chosen = args[argument] ?? value ?? globals.get(argument);
      if (chosen !== undefined) (stages.length === 0 ? globals : known).set(argument, chosen);
    } else if (name === 'FROM') {
      const [, platform, image = '', stage] = /^(?:--platform=(\S+) )?(\S+)(?: AS (\S+))?$/.exec(fill(text, globals)) ?? [];
      stages.push({ name: stage, platform, image, instructions: [] });
      known = new Map();
    } else {
      // The shell of RUN and the program of HEALTHCHECK have variables of their own.
      const filled = name === 'RUN' || name === 'HEALTHCHECK' ? text : fill(text, known);
      stages.at(-1)!.instructions.push({ name, text: filled });
    }
  }
  return stages;
}

/** The labels of the last stage, without the prefix of the OCI. */
export function labelsOf(built: readonly Stage[]): Record<string, string> {
  const text = built
    .at(-1)!
    .instructions.filter(({ name }) => name === 'LABEL')
    .map((label) => label.text)
    .join(' ');
  return Object.fromEntries(
    Array.from(text.matchAll(/org\.opencontainers\.image\.([\w.]+)="([^"]*)"/g), ([, name, value]) => [name!, value!] as const),
  );
}

function readInstructions(file: string): Instruction[] {
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .replace(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
  return lines.map((line) => {
    const [, name = '', text = ''] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
    if (!KNOWN.includes(name)) throw new Error(`${file}: the tests do not know the instruction ${name}: ${line}`);
    return { name, text };
  });
}

function fill(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(/\$\{(\w+)\}/g, (_, name: string) => {
    const value = values.get(name);
    if (value === undefined) throw new Error(`the Dockerfile uses \${${name}} without ARG ${name}`);
    return value;
  });
}
