#include "store/store.h"
#include <sqlite3.h>

const char *sw_store_engine(void)
{
	return sqlite3_libversion();
}
