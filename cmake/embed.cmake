# cmake -DIN=file -DOUT=file.c -DNAME=symbol -P embed.cmake: the file's bytes, and a NUL, as a C array.
# -DHOOK=file: before them, as Python's string HOOK, another file, which has no ''' in it.
file(READ ${IN} hex HEX)
if(HOOK)
	file(READ ${HOOK} hook HEX)
	string(HEX "HOOK = r'''" before)
	string(HEX "'''\n" behind)
	set(hex "${before}${hook}${behind}${hex}")
endif()
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "extern const char ${NAME}[];\nextern const unsigned long ${NAME}_len;\nconst char ${NAME}[] = {${bytes}0};\nconst unsigned long ${NAME}_len = sizeof ${NAME} - 1;\n")
