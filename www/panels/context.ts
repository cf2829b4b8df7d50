import { createContext, useContext } from "solid-js";
import type { Controller } from "../state/controller";

export const AppContext = createContext<Controller>();

/** Returns the controller that the page was started with. */
export function useApp(): Controller {
  const app = useContext(AppContext);
  if (!app) throw new Error("a panel stands outside of the page");
  return app;
}
