/** Loads a command of the admin API from its source; jest does not resolve the imports of the table, which name built files. */
import type { ControlCommand } from '../../../src/program/cli/control/control-command';

export async function loadControlCommand(name: string): Promise<ControlCommand> {
  const loaded = (await import(`../../../src/program/cli/control/${name}`)) as Readonly<Record<string, ControlCommand>>;
  return loaded[name]!;
}
