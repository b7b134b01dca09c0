/** The error for an address that cannot be bound: it names the setting of the address. */

import { asError } from '../../../lib/errors';

/** The message says what is wrong and which variable to set. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** The address to listen on, and the variables that set it. */
export type ListenPlace =
  | { readonly host: string | undefined; readonly port: number; readonly hostSetting: string; readonly portSetting: string }
  | { readonly path: string; readonly pathSetting: string };

/**
 * Calls `listen` and resolves to its result.
 *
 * @throws ListenError if the operating system refuses the address
 */
export async function listenOn<T>(place: ListenPlace, listen: () => Promise<T>): Promise<T> {
  try {
    return await listen();
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === undefined || syscall === undefined) throw error;
    throw new ListenError(
      'path' in place
        ? `${place.pathSetting}: cannot listen on ${place.path} (${asError(error).message}); use a path in a directory that Weir may write to`
        : explain(code, place),
      { cause: error },
    );
  }
}

function explain(code: string, { host = '0.0.0.0', port, hostSetting, portSetting }: Exclude<ListenPlace, { path: string }>): string {
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  switch (code) {
    case 'EADDRINUSE':
      return `${portSetting}: ${address} is in use already; set ${portSetting} to a free port, or stop the process that listens there`;
    case 'EACCES':
      return `${portSetting}: no permission to listen on ${address}; set ${portSetting} to 1024 or higher`;
    case 'EADDRNOTAVAIL':
      return `${hostSetting}: ${host} is not an address of this machine; set ${hostSetting} to one, or to 0.0.0.0 for all of them`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${hostSetting}: the name ${host} cannot be resolved (${code}); set ${hostSetting} to an address of this machine, or to 0.0.0.0 for all of them`;
    default:
      return `${portSetting}: cannot listen on ${address} (${code}); set ${hostSetting} or ${portSetting} to another address`;
  }
}
